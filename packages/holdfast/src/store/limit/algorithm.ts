import type { PolicyVerdict } from './contract.ts'
import type { Policy } from './policy.ts'

/**
 * How one kind of policy counts, as pure functions over a *usage*: what was taken, never what is left, so that usage carries
 * over when the limits change. None of them changes what it is given. `now` is whole milliseconds by the store's clock; all
 * numbers are doubles, and Lua does the same operations in the same order.
 *
 * A clock that was set back: what lies in the future counts as made now. So no time is ever negative, nobody is locked out
 * for longer than a window, and nothing comes free.
 */
export interface Algorithm<P extends Policy, U> {
  /** The usage as it stands at `now`: moved on, and carried over to the numbers that hold now. The same object if nothing moved. */
  at(usage: U | null, policy: P, now: number): U
  /** Whether part of it lies in the future: then what `at` gives has to be kept even when nothing is counted. */
  isAhead(usage: U, policy: P, now: number): boolean
  /** What the usage, as it stands at `now`, says to a cost that is not above the capacity. */
  judge(usage: U, policy: P, now: number, cost: number): Judgement
  /** Counts a take that was admitted. */
  count(usage: U, policy: P, now: number, cost: number, take: string): U
  /** Counts a take that was denied, as far as it fits: usage never exceeds the limit by it. */
  countDenied(usage: U, policy: P, now: number, cost: number): U
  /** Counts `change.cost` where `change.taken` was counted. `null` when that take is over: nothing is to be changed. */
  adjust(usage: U, policy: P, now: number, change: Change): U | null
  /** What is left, and until when anything counts, as it stands at `now`. */
  report(usage: U, policy: P, now: number): Report
  /** When nothing of it counts any more, by the store's clock. It must not be kept longer. */
  expires(usage: U, policy: P): number
  /** For slots: prolongs those of a take to their full lease; `null` when they are gone. */
  renew?(usage: U, policy: P, now: number, take: string): U | null
}

export interface Judgement {
  readonly allowed: boolean
  /** 0 when allowed; else the least time after which it passes if nothing else happens. */
  readonly retryAfter: number
  /** For a leaky bucket that allows: how long to wait before going. */
  readonly delay: number
}

export interface Report {
  /** The greatest cost that passes now, or 0. */
  readonly remaining: number
  readonly resetAfter: number
}

/** A take whose cost is to be another one. */
export interface Change {
  readonly take: string
  /** When it was counted. */
  readonly at: number
  readonly taken: number
  readonly cost: number
}

export const ADMITTED: Judgement = { allowed: true, retryAfter: 0, delay: 0 }

export const denied = (retryAfter: number): Judgement => ({ allowed: false, retryAfter, delay: 0 })

/** A take as one policy sees it. */
export interface DecideRequest {
  readonly cost: number
  /** The take's id. */
  readonly id: string
  readonly countDenied: boolean
}

/** A policy's verdict and the usage after it; the usage that was given when nothing has to be kept. */
export interface Decided<U> {
  readonly verdict: PolicyVerdict
  readonly usage: U | null
}
