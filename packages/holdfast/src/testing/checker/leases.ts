import { driftAllowance } from '../../defaults.ts'
import type { AcquireReturn, Assumption, Fault, HistoryRecord, Renewal } from '../history-record.ts'
import type { Acquire, Grant, History } from './history.ts'

/** The fault's time has a moment in common with [from, until]. */
export function touches(span: { from: number; until: number | null }, from: number, until: number): boolean {
  return span.from <= until && (span.until === null || span.until >= from)
}

/** The faults that break one of `breaks` for a lock or for one of the processes (all, where `null`). */
export function faultsOf(
  history: History,
  about: { name: string; processes: readonly string[] | null; breaks: readonly Assumption[] },
): Fault[] {
  return history.faults.filter(
    ({ name, subject, breaks }) =>
      (name === null || name === about.name) &&
      (subject === null || about.processes === null || about.processes.includes(subject)) &&
      breaks.some((assumption) => about.breaks.includes(assumption)),
  )
}

/**
 * A bound on when something must have happened, put off by spans in which it could not: one that began by then and ended
 * later moves the bound to `slack` after its end. Infinite when a span did not end.
 */
export function putOff<S extends { readonly from: number; readonly until: number | null }>(
  bound: number,
  spans: readonly S[],
  slack: number,
): { bound: number; by: S[] } {
  const by: S[] = []
  let end = bound
  for (const span of [...spans].sort((one, other) => one.from - other.from)) {
    const after = (span.until ?? Infinity) + slack
    if (span.from > end || after <= end) continue
    end = after
    by.push(span)
  }
  return { bound: end, by }
}

/** How long a lease lasts at least, by any clock that does not run apart by more than is allowed for. */
export function validity(ttl: number): number {
  return ttl - driftAllowance(ttl)
}

/**
 * The latest moment up to which a holder may rightly believe to hold, with the record that says so; `null` when it never
 * ends. What the holder says itself counts only within what its lease allows.
 */
export function lastDeadline(grant: Grant): { time: number; from: AcquireReturn | Renewal } | null {
  const first = deadlineIn(grant.returned, grant.call.ttl)
  if (first === null) return null
  let last: { time: number; from: AcquireReturn | Renewal } = { time: first, from: grant.returned }
  for (const renewal of grant.renewals) {
    if (!movesDeadline(grant, renewal)) continue
    const time = deadlineIn(renewal, renewal.ttl ?? grant.call.ttl)
    if (time !== null && time > last.time) last = { time, from: renewal }
  }
  return last
}

/** A fixed lease is prolonged only where its holder asked for a longer one. */
export function movesDeadline(grant: Grant, renewal: Renewal): boolean {
  return grant.call.renews !== false || renewal.ttl !== null
}

function deadlineIn(record: AcquireReturn | Renewal, ttl: number | null): number | null {
  if (ttl === null) return record.deadline
  if (record.sent !== null) return record.sent + validity(ttl)
  // It was sent before this was written, so whatever the holder says, it ends by then.
  return Math.min(record.deadline ?? Infinity, record.time + validity(ttl))
}

/**
 * The earliest moment at which the store may rightly end the lease by itself; infinite when it never does. `renewed`: the
 * renewals count, else only the grant.
 */
export function earliestExpiry(grant: Grant, renewed: boolean): number {
  const { call, returned, renewals } = grant
  if (call.ttl === null && returned.deadline === null) return Infinity
  let earliest = call.ttl === null ? -Infinity : (returned.sent ?? call.time) + validity(call.ttl)
  // A deadline that was over when it was first looked at may have been over for long.
  if (returned.deadline !== null && returned.deadline > returned.time) {
    earliest = Math.max(earliest, deadlineIn(returned, call.ttl) ?? -Infinity)
  }
  if (!renewed) return earliest
  for (const renewal of renewals) {
    if (!movesDeadline(grant, renewal) || (renewal.deadline === null && renewal.sent === null)) continue
    earliest = Math.max(earliest, deadlineIn(renewal, renewal.ttl ?? call.ttl) ?? -Infinity)
  }
  return earliest
}

/** What ended the caller's belief to hold: it was told of the loss, or asked for release. `null` when nothing is known to have. */
export function letGo(acquire: Acquire): HistoryRecord | null {
  const { loss, releases } = acquire
  const asked = releases[0]?.call ?? null
  if (loss === null || asked === null) return loss ?? asked
  return loss.time <= asked.time ? loss : asked
}

/** When the caller ceased to believe that it holds: when it let go, else when it was killed, else its last sign of life. */
export function beliefEnd(history: History, grant: Grant): number {
  const life = history.lives.get(grant.process)
  return letGo(grant)?.time ?? life?.death ?? life?.last.time ?? grant.returned.time
}

/** Whether a release says that the holder has given it back. */
export function claimsFree(outcome: string | undefined): boolean {
  return outcome === 'released' || outcome === 'unconfirmed'
}

/** The owner, or where none was told, who asked. */
export function ownerOf(grant: Grant): string {
  return grant.returned.owner ?? grant.process
}
