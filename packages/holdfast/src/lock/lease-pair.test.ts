import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listen } from '../events/channels.ts'
import { createHoldfast, type Holdfast } from '../holdfast.ts'
import { LockBench } from '../testing/lock-bench.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'

/**
 * Goal: while a prefix changes in a rolling deployment, old and new code exclude each other, and a lock that is held under
 * both names is one lock: granted, lost and given back whole.
 * Method: three generations of code over one store: with the old prefix, with both, with the new one only.
 */

const OLD = 'shop:v1'
const NEW = 'shop:v2'
const TTL = 900

let bench: LockBench
/** Code with both prefixes; its store can be troubled. */
let both: Holdfast
/** Code from before the change. */
let old: Holdfast
/** Code with the new prefix only, as it comes when no old code is left. */
let later: Holdfast

beforeEach(() => {
  bench = new LockBench({ prefix: NEW, alsoPrefix: OLD })
  both = bench.hf
  const { clock, store } = bench
  old = createHoldfast({ clock, store, randomness: seededRandomness(3), prefix: OLD })
  later = createHoldfast({ clock, store, randomness: seededRandomness(4), prefix: NEW })
})

afterEach(() => bench.end())

const keyOf = (prefix: string) => `${prefix}:{a}:lock`
const pass = (ms: number) => bench.clock.advance(ms)
const hold = () => both.lock('a', { ttl: TTL }).acquire()
const isFree = async (hf: Holdfast) => (await hf.inspect('a')) === null

describe('L10: alsoPrefix', () => {
  test('old code and code with both exclude each other', async () => {
    const held = await hold()
    expect(await old.lock('a').tryAcquire()).toBeNull()
    expect(await later.lock('a').tryAcquire()).toBeNull()
    await held.release()
    const byOld = await old.lock('a').acquire()
    expect(await both.lock('a').tryAcquire()).toBeNull()
    expect(await later.lock('a').tryAcquire()).not.toBeNull()
    await byOld.release()
  })

  test('code with both excludes itself and code with the new prefix, in both directions', async () => {
    const byLater = await later.lock('a').acquire()
    expect(await both.lock('a').tryAcquire()).toBeNull()
    await pass(0)
    expect(await isFree(old)).toBe(true)
    await byLater.release()
    const held = await hold()
    expect(await bench.other.lock('a').tryAcquire()).toBeNull()
    await held.release()
  })

  test('costs twice the round trips, and gives both back', async () => {
    const held = await hold()
    expect(await held.release()).toEqual({ released: true, confirmed: true })
    expect(bench.store.calls.map(({ call, key }) => `${call} ${key}`)).toEqual([
      `acquire ${keyOf(OLD)}`,
      `acquire ${keyOf(NEW)}`,
      `release ${keyOf(NEW)}`,
      `release ${keyOf(OLD)}`,
    ])
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('F1: the fence is the higher of both, and rises from holder to holder', async () => {
    const fences: bigint[] = []
    // Now one prefix leads, now the other: time stands still, and each grant takes one fence.
    for (const [round, ahead] of [old, later, old, later].entries()) {
      for (let i = 0; i < 50 + 100 * round; i += 1) await ahead.lock('b').run(() => undefined)
      const held = await hold()
      const halves = [(await old.inspect('a'))?.fence ?? 0n, (await later.inspect('a'))?.fence ?? 0n] as const
      expect(halves[0]).not.toBe(halves[1])
      expect(held.fence).toBe(halves[0] > halves[1] ? halves[0] : halves[1])
      fences.push(held.fence)
      await held.release()
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => (a < b ? -1 : 1)))
  })

  test('when the second is busy the first is given back at once', async () => {
    const byLater = await later.lock('a').acquire()
    expect(await both.lock('a').tryAcquire()).toBeNull()
    await bench.clock.settle()
    expect(await isFree(old)).toBe(true)
    const wait = both.lock('a', { wait: 300 }).acquire()
    const outcome = await bench.outcomeOf(wait, 2_000)
    expect(outcome).toMatchObject({ error: { code: 'LOCK_TIMEOUT', holder: byLater.owner } })
    expect(await isFree(old)).toBe(true)
  })

  test('when the second fails, or the caller goes, the first is given back', async () => {
    bench.store.trouble('acquire', 'refused', { key: keyOf(NEW) })
    const failed = await bench.outcomeOf(both.lock('a', { wait: 0 }).acquire(), 5_000)
    expect(failed).toMatchObject({ error: { code: 'STORE_REFUSED' } })
    expect(await isFree(old)).toBe(true)
    bench.store.heal()
    bench.store.trouble('acquire', 'unanswered', { key: keyOf(NEW) })
    const controller = new AbortController()
    const aborted = both.lock('a').acquire({ signal: controller.signal })
    const outcome = bench.outcomeOf(aborted, 5_000)
    await bench.clock.settle()
    controller.abort(new Error('gone'))
    expect(await outcome).toMatchObject({ error: { message: 'gone' } })
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
  })

  test('waits for both within one wait', async () => {
    const byOld = await old.lock('a', { ttl: 60_000 }).acquire()
    const byLater = await later.lock('a', { ttl: 60_000 }).acquire()
    const began = bench.clock.monotonic()
    const waiting = both.lock('a', { wait: 1_000 }).acquire()
    const ended = waiting.then(
      () => 'granted',
      () => bench.clock.monotonic() - began,
    )
    await pass(600)
    await byOld.release()
    await pass(5_000)
    expect(await ended).toBeLessThanOrEqual(1_100)
    await byLater.release()
    await bench.clock.settle()
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
  })

  test('both halves are renewed, and extended together', async () => {
    const held = await hold()
    await pass(10 * TTL)
    held.assertHeld()
    expect([await isFree(old), await isFree(later)]).toEqual([false, false])
    await held.extend('1m')
    expect((await old.inspect('a'))?.remaining).toBe(60_000)
    expect((await later.inspect('a'))?.remaining).toBe(60_000)
    expect(held.remaining()).toBeGreaterThan(59_000)
    await held.release()
  })

  test('reentry keeps one share of both', async () => {
    const lock = both.lock('a', { reentrant: true })
    await lock.run((outer) => lock.run((inner) => expect(inner.fence).toBe(outer.fence)))
    expect(bench.store.count('acquire')).toBe(2)
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
  })

  test('an exact key is the same under every prefix, and is taken once', async () => {
    const held = await both.lock('a', { key: 'locks/a' }).acquire()
    expect(bench.store.calls.map(({ key }) => key)).toEqual(['locks/a'])
    expect(await old.lock('a', { key: 'locks/a' }).tryAcquire()).toBeNull()
    await held.release()
  })
})

describe.each([
  ['old', OLD, NEW],
  ['new', NEW, OLD],
])('the loss of the %s half', (_, lost, kept) => {
  test('forced: the holder is told, and the other half is neither renewed nor left behind', async () => {
    const held = await hold()
    const { signal } = held
    const reasons: unknown[] = []
    signal.addEventListener('abort', () => reasons.push(signal.reason))
    const operator = lost === OLD ? old : later
    expect(await operator.forceRelease('a')).toMatchObject({ released: true })
    await pass(1)
    expect(held.lost).toBe('forced')
    expect(reasons).toMatchObject([{ code: 'LOCK_LOST', reason: 'forced' }])
    expect(() => held.assertHeld()).toThrow('by force')
    expect(held.remaining()).toBe(0)
    await pass(10 * TTL)
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
    expect(bench.clock.pendingTimers).toBe(0)
    expect(await held.release()).toEqual({ released: false, reason: 'forced' })
    expect(reasons).toHaveLength(1)
  })

  test('unreachable: told at its deadline, though the other half is renewed', async () => {
    const held = await hold()
    const began = bench.clock.monotonic()
    const lostAt = new Promise<number>((resolve) => {
      held.signal.addEventListener('abort', () => resolve(bench.clock.monotonic() - began))
    })
    bench.store.trouble('renew', 'swallowed', { key: keyOf(lost) })
    await pass(3 * TTL)
    expect(await lostAt).toBeLessThanOrEqual(TTL)
    expect(held.lost).toBe('unreachable')
    expect(bench.store.times('renew', keyOf(kept)).every((at) => at <= began + TTL)).toBe(true)
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
  })

  test('a run learns of it from its outcome', async () => {
    const flow = both.lock('a', { ttl: TTL }).run(async () => {
      await (lost === OLD ? old : later).forceRelease('a')
      await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 5))
      return 'value'
    })
    flow.catch(() => undefined)
    await pass(10)
    await expect(flow).rejects.toMatchObject({ reason: 'forced', work: { value: 'value' } })
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
  })
})

describe('operators with both prefixes', () => {
  test('see a lock wherever it is held', async () => {
    expect(await both.inspect('a')).toBeNull()
    const byOld = await old.lock('a').acquire()
    expect(await both.inspect('a')).toMatchObject({ owner: byOld.owner, fence: byOld.fence })
    await byOld.release()
    const held = await hold()
    expect(await both.inspect('a')).toMatchObject({ owner: held.owner })
    await held.release()
  })

  test('take it away wherever it is held', async () => {
    const byOld = await old.lock('a').acquire()
    expect(await both.forceRelease('a')).toMatchObject({ released: true, holder: byOld.owner })
    expect(await isFree(old)).toBe(true)
    const held = await bench.other.lock('a').acquire()
    const forced = await both.forceRelease('a')
    expect(forced).toMatchObject({ released: true, holder: held.owner })
    expect(forced.fence).toBeGreaterThan(held.fence)
    expect([await isFree(old), await isFree(later)]).toEqual([true, true])
    expect(await both.forceRelease('a')).toEqual({ released: false, holder: null, fence: null })
  })

  test('take it from the owner they name, and from no other', async () => {
    const byOld = await old.lock('a').acquire()
    const byLater = await later.lock('a').acquire()
    expect(await both.forceRelease('a', { owner: 'somebody else' })).toMatchObject({ released: false })
    expect([await isFree(old), await isFree(later)]).toEqual([false, false])
    expect(await both.forceRelease('a', { owner: byOld.owner })).toMatchObject({ released: true })
    expect([await isFree(old), await isFree(later)]).toEqual([true, false])
    await byLater.release()
  })
})

describe('what happens between its two halves', () => {
  test.each([
    ['an abort', (controller: AbortController) => controller.abort('enough')],
    ['the end of everything', () => void both.close()],
  ])('%s is heard; neither half stays', async (_, end) => {
    const controller = new AbortController()
    // Told synchronously with the first half's grant.
    const stop = listen('holdfast:lock:acquired', () => end(controller))
    const outcome = await bench.outcomeOf(both.lock('a').acquire({ signal: controller.signal }), 3_000)
    stop()
    expect(outcome).toHaveProperty('error')
    expect([await old.inspect('a'), await later.inspect('a')]).toEqual([null, null])
  })
})
