import assert from 'node:assert/strict'
import type { LockAddress } from '../name.ts'
import { JOIN, QUIET, type Party, type Scene } from './contract-scene.ts'

/** Far longer than a walk takes, so that the model needs no clock. */
const TTL_MS = 600_000

interface Grant {
  readonly party: Party
  readonly owner: string
  readonly fence: bigint
}

/** One lock as the model sees it: who holds it, who held it, and the highest fence so far. */
interface ModelLock {
  readonly address: LockAddress
  holder: Grant | null
  readonly former: Grant[]
  highest: bigint
}

/**
 * Random calls, one after another, on a few locks by a few processes; each answer must be the one that a fenced mutex gives.
 * What was done comes with the failure.
 */
export async function walk(scene: Scene, steps: number): Promise<void> {
  const { randomness } = scene.bench
  const pick = <T>(items: readonly T[]): T => items[Math.floor(randomness.fraction() * items.length)] as T
  const parties = [await scene.open(), await scene.open(), await scene.open()]
  const locks: ModelLock[] = ['red', 'green', 'blue'].map((name) => ({
    address: scene.address(name),
    holder: null,
    former: [],
    highest: 0n,
  }))
  const done: string[] = []
  try {
    for (let i = 0; i < steps; i += 1) {
      const step = pick(STEPS)
      const lock = pick(locks)
      done.push(`${lock.address.name}: ${step.name}`)
      await step(lock, pick(parties), pick)
    }
  } catch (error) {
    if (error instanceof Error)
      error.message += `\nafter ${done.length} steps, the last: ${done.slice(-12).join(', ')}`
    throw error
  }
}

type Step = (lock: ModelLock, party: Party, pick: <T>(items: readonly T[]) => T) => Promise<void>

function noteGrant(lock: ModelLock, grant: Grant): void {
  assert.ok(grant.fence > lock.highest, `fence ${grant.fence} is above ${lock.highest}`)
  lock.highest = grant.fence
  lock.holder = grant
}

function endGrant(lock: ModelLock): void {
  if (lock.holder !== null) lock.former.push(lock.holder)
  lock.holder = null
}

async function acquireAnew(lock: ModelLock, party: Party, pick: Parameters<Step>[2]): Promise<void> {
  const owner = party.owner()
  const result = await party.acquire(owner, {
    address: lock.address,
    ttl: TTL_MS,
    queue: pick([QUIET, JOIN]),
  })
  if (lock.holder === null) {
    assert.ok(result.kind === 'granted' && !result.again, `a free lock was answered ${result.kind}`)
    noteGrant(lock, { party, owner, fence: result.fence })
  } else {
    assert.ok(result.kind === 'busy' && result.holder !== null, `a held lock was answered ${result.kind}`)
    assert.deepEqual([result.holder.owner, result.holder.fence], [lock.holder.owner, lock.holder.fence])
  }
}

async function acquireAgain({ address, holder }: ModelLock): Promise<void> {
  if (holder === null) return
  const { party, owner, fence } = holder
  assert.deepEqual(await party.acquire(owner, { address, ttl: TTL_MS }), {
    kind: 'granted',
    fence,
    again: true,
  })
}

async function releaseHeld(lock: ModelLock): Promise<void> {
  if (lock.holder === null) return
  const { party, owner } = lock.holder
  assert.equal((await party.release(owner, lock.address)).kind, 'released')
  endGrant(lock)
}

async function releaseFormer(
  { address, holder, former }: ModelLock,
  _party: Party,
  pick: Parameters<Step>[2],
): Promise<void> {
  if (former.length === 0) return
  const { party, owner } = pick(former)
  assert.equal((await party.release(owner, address)).kind, holder === null ? 'missing' : 'other')
}

async function renewHeld({ address, holder }: ModelLock): Promise<void> {
  if (holder === null) return
  const { party, owner, fence } = holder
  assert.deepEqual(await party.renew(owner, fence, { address, ttl: TTL_MS }), { kind: 'renewed' })
}

async function renewFormer(
  { address, holder, former }: ModelLock,
  _party: Party,
  pick: Parameters<Step>[2],
): Promise<void> {
  if (former.length === 0) return
  const { party, owner, fence } = pick(former)
  assert.equal((await party.renew(owner, fence, { address })).kind, holder === null ? 'missing' : 'other')
}

async function force(lock: ModelLock, party: Party): Promise<void> {
  const result = await party.force(lock.holder?.owner ?? party.owner(), lock.address)
  assert.equal(result.kind, lock.holder === null ? 'missing' : 'forced')
  if (result.kind !== 'forced') return
  assert.ok(result.fence > lock.highest, 'a forced release takes a higher fence')
  lock.highest = result.fence
  endGrant(lock)
}

async function inspect({ address, holder }: ModelLock, party: Party): Promise<void> {
  const record = await party.inspect(address)
  assert.deepEqual([record?.owner, record?.fence], [holder?.owner, holder?.fence])
  if (record !== null)
    assert.ok(record.remaining !== null && record.remaining > TTL_MS / 2, 'a lock of ours has an expiry')
}

async function leave({ address }: ModelLock, party: Party): Promise<void> {
  await party.leave(address)
}

/** Some stand twice, so that locks are held about half of the time. */
const STEPS: readonly Step[] = [
  acquireAnew,
  acquireAnew,
  acquireAgain,
  releaseHeld,
  releaseFormer,
  renewHeld,
  renewFormer,
  force,
  inspect,
  inspect,
  leave,
]
