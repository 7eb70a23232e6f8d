import { concurrency, fixedWindow, isHoldfastError, slidingWindow, tokenBucket } from 'holdfast'
import type { Decision, Limiter, Policy, Reservation } from 'holdfast'
import type { Client } from '../client/client.ts'
import type { Instant } from '../network/server-host.ts'
import type { LimitStep, LimiterPlan } from '../plan/plan.ts'
import { inWorldTime } from './recorded.ts'
import type { TakeNote, Traffic } from './traffic.ts'

/** All that is limited is limited for this one. */
export const SUBJECT = 'user'

/** What a caller of limiters needs besides its client. */
export interface LimitSurroundings {
  readonly limiters: readonly LimiterPlan[]
  readonly traffic: Traffic
  readonly instant: () => Instant
}

/** Asks limiters as a plan says, and notes what it was told and when that was decided. */
export class LimitCaller {
  readonly #client: Client
  readonly #around: LimitSurroundings

  constructor(client: Client, around: LimitSurroundings) {
    this.#client = client
    this.#around = around
  }

  async do(step: LimitStep, signal: AbortSignal | undefined): Promise<void> {
    const limiter = limiterOf(this.#client, this.#around.limiters, step.limiter)
    const note = this.#note(step)
    const options = { cost: step.cost, ...(signal === undefined ? {} : { signal }) }
    if (step.how === 'peek')
      return void (await this.#asked(note, step.wait, () => limiter.peek(SUBJECT, { cost: step.cost })))
    if (step.how === 'reserve') {
      let reservation: Reservation | null = null
      await this.#asked(note, step.wait, async () => {
        reservation = await limiter.reserve(SUBJECT, { ...options, for: 60_000 })
        return reservation.decision
      })
      const made = reservation as Reservation | null
      await this.#pause(step.hold)
      if (made?.decision.allowed !== true || step.after === 'stay') return
      const to = step.after === 'back' ? 0 : step.actual
      return this.#change(note, to, () => (to === 0 ? made.cancel() : made.settle(to)))
    }
    const decision = await this.#asked(note, step.wait, () =>
      step.how === 'wait'
        ? limiter.waitFor(SUBJECT, { ...options, wait: step.wait })
        : limiter.take(SUBJECT, options),
    )
    if (!decision.allowed) return
    const { slot } = decision
    if (slot === undefined) {
      await this.#pause(step.hold)
      if (step.after === 'back') await this.#change(note, 0, () => limiter.refund(SUBJECT, decision))
      return
    }
    await this.#hold(note, decision, step)
  }

  /** A slot is held for a while, and given back whatever the step says: it would be held for ever. */
  async #hold(note: TakeNote, { slot }: Decision, step: LimitStep): Promise<void> {
    if (slot === undefined) return
    const held: NonNullable<TakeNote['slot']> = { ended: null, returned: null }
    note.slot = held
    const ended = (): void => {
      held.ended ??= this.#client.process.time
    }
    if (slot.signal.aborted) ended()
    slot.signal.addEventListener('abort', ended)
    await this.#pause(step.hold)
    if (this.#client.closing) return
    ended()
    const release = async (): Promise<void> => {
      if (await slot.release()) held.returned = this.#around.instant()
    }
    // Who is told that it failed tries once more, as a careful caller does.
    await this.#called('release slot', release).catch((error: unknown) => {
      if (!isHoldfastError(error)) throw error
      return release()
    })
  }

  async #asked(note: TakeNote, wait: number, ask: () => Promise<Decision>): Promise<Decision> {
    const { redis, recounts } = this.#client
    const { connections } = redis
    try {
      const decision = await this.#called(note.how, ask, { wait })
      note.told = this.#around.instant()
      note.outcome = decision.allowed ? 'allowed' : 'denied'
      note.source = decision.source
      const executed = redis.lastExecuted
      if (decision.source === 'store' && executed !== null) {
        note.until = executed.at
        // What was asked more than once may have been decided at the first time.
        const isFirst = this.#client.recounts === recounts && redis.connections === connections
        note.from = isFirst ? executed.at : note.asked
      } else note.from = note.until = note.told
      return decision
    } catch (error) {
      note.failed = this.#around.instant()
      if (isHoldfastError(error) && error.code === 'RATE_LIMITED') note.outcome = 'denied'
      throw error
    }
  }

  async #change(note: TakeNote, to: number, change: () => Promise<boolean>): Promise<void> {
    const changed = { to, asked: this.#around.instant(), told: null as Instant | null, done: false }
    note.changed = changed
    changed.done = await this.#called('give back', change)
    changed.told = this.#around.instant()
  }

  #called<T>(
    operation: string,
    run: () => Promise<T>,
    { wait = 0, budget = this.#client.budget } = {},
  ): Promise<T> {
    const { recorder, process } = this.#client
    const { rate } = process.clock
    const about = { wait: inWorldTime(wait, rate), budget: inWorldTime(budget, rate) }
    return recorder.call(operation, about, run)
  }

  #note(step: LimitStep): TakeNote {
    const note: TakeNote = {
      process: this.#client.process.name,
      limiter: step.limiter,
      how: step.how,
      cost: step.cost,
      asked: this.#around.instant(),
      outcome: 'unknown',
      source: null,
      from: null,
      until: null,
      told: null,
      failed: null,
      changed: null,
      slot: null,
    }
    this.#around.traffic.takes.push(note)
    return note
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#client.process.clock.setTimer(resolve, ms))
  }
}

/** A limiter of a plan, as a process has it. */
export function limiterOf(client: Client, limiters: readonly LimiterPlan[], index: number): Limiter {
  const plan = limiters[index] as LimiterPlan
  return client.hf.limiter(`limiter-${index + 1}`, policyOf(plan), {
    budget: client.budget,
    rememberFor: plan.rememberFor,
    ...(plan.lease === null ? {} : { lease: plan.lease }),
  })
}

function policyOf({ kind, limit, per }: LimiterPlan): Policy {
  switch (kind) {
    case 'sliding':
      return slidingWindow({ limit, per })
    case 'fixed':
      return fixedWindow({ limit, per })
    case 'bucket':
      return tokenBucket({ capacity: limit, refill: limit, per })
    case 'slots':
      return concurrency({ limit, lease: per })
  }
}
