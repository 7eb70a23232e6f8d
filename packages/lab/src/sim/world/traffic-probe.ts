import { OutcomeUnknownError } from 'holdfast'
import type { Client } from '../client/client.ts'
import { SET_BACK } from './fault-injector.ts'
import { limiterOf, SUBJECT } from './limit-caller.ts'
import { idempotencyOf } from './once-caller.ts'
import type { Play, World } from './world.ts'

/** Beyond what a limiter or a lease needs: a few round trips, and pauses between two asks. */
const SLACK_MS = 3_000

/**
 * INV-L1 for what is no lock, when all is well again and everybody else has closed: each limit can be had whole, and each key
 * comes to an end.
 */
export class TrafficProbe {
  readonly #world: World
  readonly #client: Client

  constructor(world: World) {
    this.#world = world
    this.#client = world.open('probe', 'ioredis', { rate: 1, wallOff: 0, lateness: 0 }, null)
  }

  *play(): Play<void> {
    const { scheduler, server } = this.#world
    yield* this.#world.playUntil(() => scheduler.now >= server.busyUntil, server.busyUntil)
    for (const index of this.#world.plan.limiters.keys()) yield* this.#limiter(index)
    for (const index of this.#world.plan.runs.keys()) yield* this.#run(index)
    void this.#client.close({})
    yield* this.#world.playUntil(() => this.#client.closed, this.#world.scheduler.now + SLACK_MS)
  }

  /** A limit that nobody uses any more is free within two of its windows, whatever was done to the server's clock. */
  *#limiter(index: number): Play<void> {
    const { plan } = this.#world
    const { kind, limit, per } = plan.limiters[index] as (typeof plan.limiters)[number]
    const limiter = limiterOf(this.#client, plan.limiters, index)
    const isSlots = kind === 'slots'
    const wait = Math.ceil(2.02 * per + SLACK_MS) + (isSlots ? this.#setBackBy() : 0)
    const takes = isSlots ? limit : 1
    let told: string | null = null
    const take = () => limiter.waitFor(SUBJECT, { cost: isSlots ? 1 : limit, wait })
    const taking = async (): Promise<void> => {
      // A budget may be too short for the first connection, and all that has to be asked over it.
      for (let i = 0; i < takes; i += 1) await take().catch(take)
    }
    taking().then(
      () => (told = ''),
      (error: unknown) => (told = String(error)),
    )
    yield* this.#world.playUntil(() => told !== null, this.#world.scheduler.now + takes * wait + SLACK_MS)
    if (told === '') return
    const sentence = `All of limiter ${index + 1} (${kind}, ${limit} per ${per} ms) could not be had within ${wait} ms: ${told ?? 'no answer'}`
    this.#world.see('INV-L1', null, sentence)
  }

  /** A server's clock that was set back lengthens the leases that stand. */
  #setBackBy(): number {
    const back = this.#world.plan.faults.map((fault) => (fault.kind === 'step-server' ? -fault.by : 0))
    return this.#world.records.some((record) => record.kind === 'fault' && record.cause === SET_BACK)
      ? back.reduce((sum, by) => sum + Math.max(0, by), 0)
      : 0
  }

  /** A key is not run for ever: it comes to a value, its final error, or with `fail` to the word that nobody knows. */
  *#run(index: number): Play<void> {
    const { plan, scheduler, server, traffic } = this.#world
    const { lease, onAbandoned } = plan.runs[index] as (typeof plan.runs)[number]
    const idempotency = idempotencyOf(this.#client, plan.runs, index)
    const wait = Math.ceil(1.02 * lease + SLACK_MS + this.#setBackBy())
    let told: unknown = null
    const asked = server.instant
    idempotency
      .run({ key: 'order', scope: 'global' }, { wait }, () => 'by the probe')
      .then(
        () => (told = 'done'),
        (error: unknown) => (told = error),
      )
    yield* this.#world.playUntil(() => told !== null, scheduler.now + wait + SLACK_MS)
    const isFinal = told instanceof Error && told.name === 'Refused'
    // Whether it is true that nobody knows is judged as for every other caller.
    const reason = told instanceof OutcomeUnknownError ? told.reason : null
    traffic.runs.push({
      process: 'probe',
      key: index,
      payload: 0,
      what: 'run',
      asked,
      told: server.instant,
      outcome: reason === null ? null : 'told',
      value: null,
      replayed: false,
      code: reason === null ? null : 'OUTCOME_UNKNOWN',
      reason,
    })
    if (told === 'done' || isFinal || (reason !== null && onAbandoned === 'fail')) return
    const sentence = `Key ${index + 1} (${onAbandoned}) came to no end within ${wait} ms: ${String(told)}`
    this.#world.see('INV-J1', null, sentence)
  }
}
