/** What became of requests, and what passed of them in any minute. */

import { StoreUnavailableError } from 'holdfast'
import type { Stamp } from '../log.ts'
import { MINUTE } from './gate.ts'

/** What came of a request. `unanswered`: the store did not decide in time. */
export type Outcome = 'admitted' | 'denied' | 'unanswered'

export type LimitHappening =
  /** It is known what becomes of a request. `sent`: when the limit was asked. */
  | { readonly what: 'decided'; readonly sent: number; readonly outcome: Outcome }
  /** The process ends in the middle of its work. */
  | { readonly what: 'dies' }

export type LimitEntry = LimitHappening & Stamp

/** One request. It was decided at some time from `sent` to `answered`, in milliseconds of the log's clock. */
export interface Request {
  readonly lane: string
  readonly sent: number
  readonly answered: number
  readonly outcome: Outcome
}

/**
 * The store counts whole milliseconds, by a clock that may be slewed against ours. Within less than a minute by this much
 * nobody can say that it was a minute.
 */
const BLUR = 2

/** Asks, and says what came of it. */
export async function outcomeOf(mayPass: () => Promise<boolean>): Promise<Outcome> {
  try {
    return (await mayPass()) ? 'admitted' : 'denied'
  } catch (error) {
    if (error instanceof StoreUnavailableError) return 'unanswered'
    throw error
  }
}

export function requestsIn(log: readonly LimitEntry[]): Request[] {
  return log.flatMap((entry) =>
    entry.what === 'decided'
      ? [{ lane: entry.lane, sent: entry.sent, answered: entry.at, outcome: entry.outcome }]
      : [],
  )
}

export function countOf(requests: readonly Request[], outcome: Outcome): number {
  return requests.filter((request) => request.outcome === outcome).length
}

/**
 * How many were surely admitted in the minute that ends at `end`: asked for after it began, and answered before it was over.
 * So this may miss some at the edges, and never counts one too many.
 */
export function admittedInMinuteBefore(end: number, requests: readonly Request[]): number {
  const from = end - MINUTE + BLUR
  return requests.filter(
    ({ outcome, sent, answered }) => outcome === 'admitted' && sent >= from && answered <= end,
  ).length
}

/** The most that were surely admitted in any minute. */
export function mostInAnyMinute(requests: readonly Request[]): number {
  return Math.max(0, ...requests.map(({ answered }) => admittedInMinuteBefore(answered, requests)))
}
