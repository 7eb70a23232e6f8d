import { InvalidArgumentError } from '../errors.ts'
import type { LockAddress } from '../name.ts'
import type { ForceResult, LockRecord } from '../store/contract.ts'
import { publicError } from '../store/failure.ts'
import { leaseIdOf } from '../store/owner.ts'
import type { LockEngine } from './engine.ts'

/** What is known of a held lock. */
export interface LockInfo {
  readonly owner: string
  /** Milliseconds since 1970 by the store's clock when it was granted; `null` when other software holds it. */
  readonly since: number | null
  /** Milliseconds until it expires; `null` when it never does (no lock of ours). */
  readonly remaining: number | null
  /** `null` when other software holds it. */
  readonly fence: bigint | null
  /** How many processes stand in the queue. */
  readonly waiters: number
  /** The id of the lease: the first 22 characters of the owner; `null` when other software holds it. */
  readonly lease: string | null
}

/** What a forced release came to. */
export interface ForceReleaseResult {
  readonly released: boolean
  /** Who held it; who holds it when it was left alone; `null` when nobody does. */
  readonly holder: string | null
  /** Higher than the old holder's: for `guard.raise`, which shuts out its writes. `null` when nothing was released. */
  readonly fence: bigint | null
}

/**
 * Reads a lock.
 *
 * @param addresses where it may lie, the likeliest first
 */
export async function inspectLock(
  engine: LockEngine,
  addresses: readonly LockAddress[],
): Promise<LockInfo | null> {
  for (const address of addresses) {
    const record = await read(engine, address)
    if (record === null) continue
    const { owner, fence, remaining, waiters } = record
    const since = fence === null ? null : Number(fence) / 1_000
    return { owner, since, remaining, fence, waiters, lease: leaseIdOf(owner) }
  }
  return null
}

/**
 * Takes a lock from `owner`, or from whoever is read to hold it.
 *
 * @param addresses where it may lie, the likeliest first; without `owner` it is taken away at each of them
 */
export async function forceRelease(
  engine: LockEngine,
  addresses: readonly LockAddress[],
  owner: string | undefined,
): Promise<ForceReleaseResult> {
  if (owner !== undefined && (typeof owner !== 'string' || owner === '')) {
    throw new InvalidArgumentError('owner', owner, {
      problem: 'is not an owner',
      remedy: 'Give the owner that inspect() shows, or leave it out.',
    })
  }
  let outcome: ForceReleaseResult = { released: false, holder: null, fence: null }
  for (const address of addresses) {
    const next = await forceAt(engine, address, owner)
    if (next.released && owner !== undefined) return next
    outcome = joined(outcome, next)
  }
  return outcome
}

/** What two halves of a lock came to: the holder is that of the first, the fence the higher one. */
function joined(one: ForceReleaseResult, other: ForceReleaseResult): ForceReleaseResult {
  const first = one.released || !other.released ? one : other
  const fence = (one.fence ?? 0n) > (other.fence ?? 0n) ? one.fence : other.fence
  return { released: first.released, holder: first.holder ?? one.holder ?? other.holder, fence }
}

async function forceAt(
  engine: LockEngine,
  address: LockAddress,
  owner: string | undefined,
): Promise<ForceReleaseResult> {
  const holder = owner ?? (await read(engine, address))?.owner
  if (holder === undefined) return { released: false, holder: null, fence: null }
  engine.assertOpen()
  const outcome = await engine.operate<ForceResult>({
    what: 'force',
    ask: (attempt) => engine.store.force({ address, owner: holder }, attempt),
  })
  if (outcome.kind !== 'done')
    throw publicError(outcome, `Releasing the lock ${JSON.stringify(address.name)} by force`)
  const { result } = outcome.answer
  if (result.kind === 'forced') {
    // A hold of this very process is told without the store.
    engine.forced(address.key, holder)
    engine.table.find(address.key)?.contention?.nudge()
    return { released: true, holder, fence: result.fence }
  }
  return { released: false, holder: result.kind === 'other' ? result.holder.owner : null, fence: null }
}

async function read(engine: LockEngine, address: LockAddress): Promise<LockRecord | null> {
  engine.assertOpen()
  const outcome = await engine.operate<LockRecord | null>({
    what: 'inspect',
    ask: (attempt) => engine.store.inspect(address, attempt),
  })
  if (outcome.kind !== 'done')
    throw publicError(outcome, `Inspecting the lock ${JSON.stringify(address.name)}`)
  return outcome.answer.result
}
