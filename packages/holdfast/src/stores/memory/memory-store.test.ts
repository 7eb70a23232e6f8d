import { describe, expect, test } from 'vitest'
import type { Clock } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import { listen, type HoldfastEvents } from '../../events/channels.ts'
import { lockAddress } from '../../name.ts'
import { Attempt } from '../../store/attempt.ts'
import type { AcquireAsk, LockListener, LockStore, QueueManners } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import { OwnerMint } from '../../store/owner.ts'
import { seededRandomness } from '../../testing/seeded-randomness.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { MemoryLockStore } from './memory-lock-store.ts'
import { memoryStore } from './memory-store.ts'
import { MemoryTables } from './memory-tables.ts'

const PREFIX = 'test:v1'
const QUIET: QueueManners = { join: false, stands: false, yield: false }
const JOIN: QueueManners = { join: true, stands: true, yield: false }
const address = (name: string) => lockAddress(PREFIX, name)
const attempt = (clock: Clock) => new Attempt(clock.monotonic() + 1_000, clock.monotonic() + 1_000)
const contextOf = (clock: Clock, seed: number) => ({
  clock,
  randomness: seededRandomness(seed),
  prefixes: [PREFIX],
})
const ask = (name: string, owner: string, queue = QUIET): AcquireAsk => ({
  address: address(name),
  owner,
  trace: null,
  ttl: 10_000,
  queue,
})

function hearing(locks: LockStore): string[] {
  const heard: string[] = []
  const listener: LockListener = {
    moved: () => undefined,
    wake: (key) => heard.push(`wake ${key}`),
    forced: (key, owner) => heard.push(`forced ${key} ${owner}`),
    gap: () => heard.push('gap'),
  }
  locks.listen(listener)
  return heard
}

/** The inner store over tables that a test can look into. */
function bare(clock = new VirtualClock()) {
  const tables = new MemoryTables(clock)
  const locks = new MemoryLockStore(tables, contextOf(clock, 1), { wake: () => {}, forced: () => {} })
  return { clock, tables, locks, mint: new OwnerMint(locks.process) }
}

describe('memory store', () => {
  test('two openings of one store exclude each other, those of two stores do not', async () => {
    const clock = new VirtualClock()
    const shared = memoryStore()
    const [one, two] = [shared.open(contextOf(clock, 1)), shared.open(contextOf(clock, 2))]
    const apart = memoryStore().open(contextOf(clock, 3))
    expect((await one.locks.acquire(ask('a', 'x'), attempt(clock))).result.kind).toBe('granted')
    expect((await two.locks.acquire(ask('a', 'y'), attempt(clock))).result.kind).toBe('busy')
    expect((await apart.locks.acquire(ask('a', 'z'), attempt(clock))).result.kind).toBe('granted')
  })

  test('a stepped wall clock changes neither expiry nor fences', async () => {
    const { clock, locks } = bare()
    const first = await locks.acquire(ask('a', 'x'), attempt(clock))
    clock.stepWall(3_600_000)
    expect((await locks.inspect(address('a'), attempt(clock))).result?.remaining).toBe(10_000)
    clock.stepWall(-7_200_000)
    await clock.advance(9_999)
    expect((await locks.inspect(address('a'), attempt(clock))).result?.remaining).toBe(1)
    await clock.advance(1)
    expect((await locks.inspect(address('a'), attempt(clock))).result).toBeNull()
    const second = await locks.acquire(ask('a', 'y'), attempt(clock))
    expect(second.serverTime).toBe(first.serverTime + 10_000)
  })

  test('sets no timer', async () => {
    const { clock, locks } = bare()
    for (let i = 0; i < 50; i += 1) await locks.acquire(ask(`n${i}`, `o${i}`), attempt(clock))
    locks.attend()
    expect(clock.pendingTimers).toBe(0)
  })

  test('what is kept stays in proportion to what is in use: 20 000 names, each once', async () => {
    const { clock, locks, tables, mint } = bare()
    for (let i = 0; i < 20_000; i += 1) {
      await locks.acquire(ask(`n${i}`, mint.next()), attempt(clock))
      if (i % 100 === 99) clock.blockFor(1_000)
    }
    // A thousand are alive at any time; a few rounds' worth of dead ones wait for the sweep.
    expect(tables.size.leases).toBeLessThan(3_000)
    expect(tables.size.fences).toBe(1)
  })

  test('queues whose waiters died are cleared away by the waiters of other locks', async () => {
    const { clock, locks, tables, mint } = bare()
    const wait = async (i: number) => {
      await locks.acquire(ask(`n${i}`, 'held by another'), attempt(clock))
      await locks.acquire(ask(`n${i}`, mint.next(), JOIN), attempt(clock))
    }
    for (let i = 0; i < 100; i += 1) await wait(i)
    expect(tables.size.queues).toBe(100)
    clock.blockFor(bounds.waiterDeadAfter + 1)
    for (let i = 100; i < 200; i += 1) await wait(i)
    expect(tables.size.queues).toBe(100)
  })

  test('a push comes in a turn of its own, and not to an opening that was closed', async () => {
    const clock = new VirtualClock()
    const store = memoryStore()
    const [holder, waiter] = [store.open(contextOf(clock, 1)), store.open(contextOf(clock, 2))]
    const heard = hearing(waiter.locks)
    const owner = new OwnerMint(holder.locks.process).next()
    await holder.locks.acquire(ask('a', owner), attempt(clock))
    await waiter.locks.acquire(ask('a', 'y', JOIN), attempt(clock))
    const release = { address: address('a'), owner }
    expect((await holder.locks.release(release, attempt(clock))).result).toEqual({
      kind: 'released',
      wokeOther: true,
    })
    expect(heard).toEqual([])
    await clock.settle()
    expect(heard).toEqual([`wake ${address('a').key}`])
    await holder.locks.acquire(ask('a', owner), attempt(clock))
    await waiter.locks.acquire(ask('a', 'y', JOIN), attempt(clock))
    await holder.locks.release(release, attempt(clock))
    await waiter.close()
    await clock.settle()
    expect(heard).toHaveLength(1)
  })

  test('a closed opening refuses', async () => {
    const clock = new VirtualClock()
    const opened = memoryStore().open(contextOf(clock, 1))
    await opened.close()
    const failure: unknown = await opened.locks
      .acquire(ask('a', 'x'), attempt(clock))
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StoreFailure)
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true, reason: 'closed' })
  })

  test('a last fence ahead of the clock is told, and one at the end of the numbers is refused', async () => {
    const { clock, locks, tables } = bare()
    const told: HoldfastEvents['holdfast:fence:leads-clock'][] = []
    const stop = listen('holdfast:fence:leads-clock', (event) => told.push(event))
    try {
      const { serverTime } = await locks.acquire(ask('a', 'x'), attempt(clock))
      expect(told).toEqual([])
      tables.setLastFence(address('a').fenceKey, (serverTime + 2_000) * 1_000)
      await locks.acquire(ask('b', 'x'), attempt(clock))
      tables.setLastFence(address('a').fenceKey, (serverTime + 7_200_000) * 1_000)
      await locks.acquire(ask('c', 'x'), attempt(clock))
      await locks.acquire(ask('c', 'x'), attempt(clock))
      expect(told.map(({ lock, level, leadMs }) => ({ lock, level, leadMs }))).toEqual([
        { lock: 'b', level: 'second', leadMs: 2_000 },
        { lock: 'c', level: 'hour', leadMs: 7_200_000 },
      ])
    } finally {
      stop()
    }
    tables.setLastFence(address('a').fenceKey, 2 ** 53 - 2)
    const last = await locks.acquire(ask('d', 'x'), attempt(clock))
    expect(last.result).toMatchObject({ kind: 'granted', fence: 2n ** 53n - 1n })
    const refusal: unknown = await locks
      .acquire(ask('e', 'x'), attempt(clock))
      .catch((error: unknown) => error)
    expect(refusal).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true, reason: 'FENCELIMIT' })
    expect((await locks.inspect(address('e'), attempt(clock))).result).toBeNull()
  })
})
