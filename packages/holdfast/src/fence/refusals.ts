import { InvalidArgumentError, StaleFenceError, StoreRefusedError } from '../errors.ts'
import { show } from '../show.ts'
import { events, type HoldfastEvents } from '../events/channels.ts'
import type { CheckedWrite } from './guard-options.ts'

/** Where a guarded resource lies. */
export type GuardKind = HoldfastEvents['holdfast:fence:refused']['guard']

/** What the registry, or the row, has accepted. */
export interface Accepted {
  readonly fence: bigint
  /** The lock that it belongs to, encoded; `null` when not known. */
  readonly lock: string | null
}

/** Tells that a fence is stale, and gives the error to throw. */
export function stale(
  guard: GuardKind,
  write: { readonly resource: string; readonly fence: bigint; readonly lock: string | null },
  accepted: bigint,
): StaleFenceError {
  const { resource, fence, lock } = write
  if (events.fenceRefused.hasSubscribers) {
    events.fenceRefused.publish({ guard, resource, lock, fence: String(fence), accepted: String(accepted) })
  }
  return new StaleFenceError({ resource, fence, accepted })
}

/** Why a registry did not accept a fence, from what stands in it now. */
export function refusal(guard: GuardKind, write: CheckedWrite, accepted: Accepted | null): Error {
  if (accepted === null) return vanished(write)
  if (accepted.lock !== null && write.lock !== null && accepted.lock !== write.lock)
    return otherLock(write, accepted.lock)
  return stale(guard, write, accepted.fence)
}

/** One resource, one lock name: fences of two locks have no order. */
export function otherLock({ resource, lock }: CheckedWrite, registered: string): InvalidArgumentError {
  return new InvalidArgumentError('lock', lock, {
    problem: `is not the lock that guards ${show(resource)}, which is ${show(registered)}`,
    remedy: 'Guard one resource by one lock: fences of two locks cannot be compared.',
  })
}

/** Its row was there when the fence was refused, and is not any more. */
function vanished({ resource }: CheckedWrite): StoreRefusedError {
  return new StoreRefusedError(
    `The guard of ${show(resource)} refused a fence, and its row was deleted meanwhile. Never delete rows of the registry.`,
    { retryable: false, outcome: 'not-done', reason: 'registry-row-deleted' },
  )
}

/** A guard whose answer would be worth nothing a moment later. */
export function outsideTransaction(remedy: string): InvalidArgumentError {
  return new InvalidArgumentError('tx', 'a connection', {
    problem:
      'is not inside a transaction: the fence would be checked and the lock on its row gone before you write',
    remedy,
  })
}

/** A pool, whose calls may each go over another connection. */
export function poolGiven(what: string, remedy: string): InvalidArgumentError {
  return new InvalidArgumentError('tx', what, {
    problem: 'is a pool, each of whose calls may go over another connection, outside of your transaction',
    remedy,
  })
}

/** The registry is not there, or another table has its name. The message prints what makes it. */
export function noRegistry(
  table: string,
  schema: string,
  cause: unknown,
  missing: boolean,
): StoreRefusedError {
  const problem = missing
    ? `The registry of fences ${table} does not exist`
    : `The table ${table} is there, but has not the columns of a registry of fences`
  const remedy = missing
    ? 'Make it once, by `await guard.migrate(db)` or by this statement:'
    : 'Give the guard another `table`, which this statement makes:'
  return new StoreRefusedError(`${problem}. ${remedy}\n${schema}`, {
    retryable: false,
    outcome: 'not-done',
    reason: missing ? 'no-table' : 'other-table',
    cause,
  })
}
