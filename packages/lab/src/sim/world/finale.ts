import { lockAddress } from 'holdfast/testing'
import type { Client } from '../client/client.ts'
import type { Plan } from '../plan/plan.ts'
import { inWorldTime, worldLock } from './recorded.ts'
import { TrafficProbe } from './traffic-probe.ts'
import type { Play, World } from './world.ts'

/** When nothing is wrong any more, a free lock is got within a poll, with its jitter, and a few round trips. */
const POLL_BOUND = 1_250 + 250
/** How long everybody has to close. */
const LONGEST_CLOSE = 20_000

/** The end of a world: all faults are healed; everything must be free, everybody must come to an end, nothing may stay. */
export class Finale {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  *play(): Play<void> {
    const world = this.#world
    yield* this.#probe()
    yield* this.#close()
    yield* this.#rest()
    if (world.plan.limiters.length + world.plan.runs.length > 0) yield* new TrafficProbe(world).play()
    world.noteKeys()
    for (const client of world.clients) {
      if (client.process.alive) this.#judgeLeaks(client)
      if (client.process.alive) client.recorder.end()
    }
    if (isUndisturbed(world.plan)) this.#judgeQueues()
  }

  /** INV-L1: a new caller gets each lock as soon as what stands there has run out. */
  *#probe(): Play<void> {
    const world = this.#world
    const { scheduler, servers, plan } = world
    if (plan.names.length === 0) return
    const probe = world.open('probe', 'ioredis', { rate: 1, wallOff: 0, lateness: 0 }, null)
    for (const [index, name] of plan.names.entries()) {
      // A request that nobody waits for may still be under way, and be granted for a whole lease.
      const holder = Math.max(world.storeLog.remaining(index), longestLease(plan))
      const began = Math.max(scheduler.now, ...servers.map(({ busyUntil }) => busyUntil))
      const shut = plan.reopenDelay ?? 0
      const bound = holder + shut + POLL_BOUND + 2 * plan.budget + 60 * plan.delay.to
      const wait = Math.ceil(began - scheduler.now + bound)
      const about = { name, ttl: 1_000, wait, budget: plan.budget }
      const lock = probe.recorder.lock(worldLock(probe.hf.lock(name, { ttl: 1_000, wait }), 1), about)
      let got = false
      void lock
        .acquire()
        .then((hold) => {
          got = true
          return hold.release()
        })
        .catch(() => undefined)
      yield* world.playUntil(() => got, began + bound)
      if (!got) {
        const sentence = `${name} could not be had within ${Math.round(bound)} ms after all faults were healed.`
        world.see('INV-L1', name, sentence)
      }
    }
  }

  *#close(): Play<void> {
    const world = this.#world
    const living = world.clients.filter(({ process }) => process.alive)
    for (const client of living) if (!client.closing) void client.close({})
    const until = world.scheduler.now + LONGEST_CLOSE
    yield* world.playUntil(() => living.every(({ closed }) => closed), until)
    for (const { closed, process } of living) {
      if (!closed) world.see('INV-H1', null, `${process.name} never closed.`)
    }
  }

  /** Time in which what was left to itself runs out. */
  *#rest(): Play<void> {
    const { clients, plan, scheduler } = this.#world
    // Whoever stands still has that time when it goes on.
    const from = Math.max(scheduler.now, ...clients.map(({ process }) => (process.alive ? process.time : 0)))
    yield* this.#world.playUntil(() => false, from + inWorldTime(3 * plan.budget, 1) + 2_000)
  }

  /** INV-C1: where nothing was ever in anybody's way, nobody is left standing in a queue. */
  #judgeQueues(): void {
    const { plan, recorder } = this.#world
    for (const name of plan.names) {
      const { queueKey } = lockAddress('holdfast:v1', name)
      const server = this.#world.serverOf(queueKey)
      const left = server.model.execute(['ZCARD', queueKey], server.nowMicros)
      if (left !== 0) recorder.leak('key', `${Number(left)} entries in the queue of ${name}`)
    }
  }

  /** INV-C1. */
  #judgeLeaks({ process, redis, recorder }: Client): void {
    const { pendingTimers } = process.clock
    if (pendingTimers > 0) recorder.leak('timer', `${pendingTimers} timers after close()`)
    if (redis.listenerCount > 0)
      recorder.leak('listener', `${redis.listenerCount} on the client after close()`)
    const open = redis.subscribers.filter(({ isOpen }) => isOpen).length
    if (open > 0) recorder.leak('socket', `${open} connections for channels after close()`)
  }
}

/** Nothing was ever in anybody's way: no fault, and no event loop blocked, so that each request was answered in its time. */
function isUndisturbed({ clients, faults }: Plan): boolean {
  const steps = clients.flatMap(({ callers }) => callers.flatMap(({ steps: each }) => each))
  const blocks = steps.some((step) => step.kind === 'lock' && step.work.some(({ kind }) => kind === 'block'))
  return faults.length === 0 && !blocks
}

/**
 * The longest lease that anybody may ask for, by whatever clock; 0 where nobody is killed, and no server's clock is set back: then a
 * request is still in its time that its sender has given up long ago.
 */
function longestLease({ clients, faults }: Plan): number {
  const isLeft = faults.some(
    (fault) => fault.kind === 'kill' || ('by' in fault && fault.kind !== 'step-wall' && fault.by < 0),
  )
  if (!isLeft) return 0
  const steps = clients.flatMap(({ callers }) => callers.flatMap(({ steps: each }) => each))
  const leases = steps.flatMap((step) => (step.kind === 'lock' ? [step.ttl] : []))
  return 1.01 * Math.max(0, ...leases)
}
