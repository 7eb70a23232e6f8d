import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LockBench } from '../testing/lock-bench.ts'

/** Goal: an operator sees the truth, and takes a lock from the one who was meant. Method: two processes, a virtual clock. */

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const pass = (ms: number) => bench.clock.advance(ms)

describe('L11: inspect', () => {
  test('tells who holds it, since when, how long still, with which fence and lease, and who waits', async () => {
    expect(await bench.other.inspect('a')).toBeNull()
    const held = await bench.hf.lock('a', { ttl: 900, renew: false }).acquire()
    const grantedAt = bench.clock.wall()
    await pass(300)
    expect(await bench.other.inspect('a')).toEqual({
      owner: held.owner,
      since: grantedAt,
      remaining: 600,
      fence: held.fence,
      waiters: 0,
      lease: held.owner.slice(0, 22),
    })
    void bench.other
      .lock('a', { wait: 200 })
      .acquire()
      .catch(() => undefined)
    await pass(100)
    expect((await bench.other.inspect('a'))?.waiters).toBe(1)
    await pass(600)
    expect(await bench.other.inspect('a')).toBeNull()
  })

  test('changes nothing, and costs one round trip', async () => {
    const held = await bench.hf.lock('a').acquire()
    const before = bench.store.calls.length
    for (let i = 0; i < 3; i += 1) await bench.hf.inspect('a')
    expect(bench.store.calls.slice(before).map(({ call }) => call)).toEqual(['inspect', 'inspect', 'inspect'])
    held.assertHeld()
  })

  test('a store that does not answer, or refuses, is told', async () => {
    bench.store.trouble('inspect', 'swallowed')
    expect(await bench.outcomeOf(bench.hf.inspect('a'), 1_000)).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE' },
    })
    bench.store.trouble('inspect', 'refused')
    expect(await bench.outcomeOf(bench.hf.inspect('a'), 1_000)).toMatchObject({
      error: { code: 'STORE_REFUSED' },
    })
  })
})

describe('L11: forceRelease', () => {
  test('of the owner given: one round trip, a higher fence, and the holder is told at once', async () => {
    const held = await bench.hf.lock('a').acquire()
    const { signal } = held
    const before = bench.store.calls.length
    const forced = await bench.other.forceRelease('a', { owner: held.owner })
    expect(forced).toEqual({ released: true, holder: held.owner, fence: expect.any(BigInt) as bigint })
    expect(forced.fence).toBeGreaterThan(held.fence)
    await bench.clock.settle()
    expect(held.lost).toBe('forced')
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' })
    expect(await held.release()).toEqual({ released: false, reason: 'forced' })
    expect(bench.store.calls.length).toBe(before)
    expect(await bench.other.inspect('a')).toBeNull()
  })

  test('of the owner who is read first: one round trip more', async () => {
    const held = await bench.other.lock('a').acquire()
    expect(await bench.hf.forceRelease('a')).toMatchObject({ released: true, holder: held.owner })
    expect(bench.store.calls.map(({ call }) => call)).toEqual(['inspect', 'force'])
  })

  test('F1: whoever comes next has a fence above the one that was raised', async () => {
    const held = await bench.other.lock('a').acquire()
    const forced = await bench.hf.forceRelease('a')
    const next = await bench.hf.lock('a').acquire()
    expect(next.fence).toBeGreaterThan(forced.fence as bigint)
    expect(forced.fence).toBeGreaterThan(held.fence)
  })

  test('a lock that has passed on meanwhile is left alone', async () => {
    const first = await bench.other.lock('a').acquire()
    await first.release()
    const second = await bench.other.lock('a').acquire()
    expect(await bench.hf.forceRelease('a', { owner: first.owner })).toEqual({
      released: false,
      holder: second.owner,
      fence: null,
    })
    second.assertHeld()
    await second.extend('1m')
    // Also when it passes on between the reading and the forcing.
    bench.store.trouble('force', { arrivesAfter: 50 })
    const forcing = bench.hf.forceRelease('a')
    await bench.clock.settle()
    await second.release()
    const third = await bench.other.lock('a').acquire()
    const outcome = await bench.outcomeOf(forcing, 100)
    expect(outcome).toEqual({ value: { released: false, holder: third.owner, fence: null } })
    third.assertHeld()
  })

  test('of nothing is nothing', async () => {
    expect(await bench.hf.forceRelease('a')).toEqual({ released: false, holder: null, fence: null })
    expect(await bench.hf.forceRelease('a', { owner: 'x' })).toEqual({
      released: false,
      holder: null,
      fence: null,
    })
  })

  test('wakes who waits, in this process and in others', async () => {
    const held = await bench.hf.lock('a', { ttl: '1h' }).acquire()
    const began = bench.clock.monotonic()
    const turns: number[] = []
    const work = () => {
      turns.push(bench.clock.monotonic() - began)
    }
    const all = [bench.other.lock('a').run(work), bench.hf.lock('a').run(work)]
    await pass(100)
    await bench.other.forceRelease('a', { owner: held.owner })
    await pass(5)
    await Promise.all(all)
    expect(turns).toHaveLength(2)
    expect(Math.max(...turns)).toBeLessThan(106)
  })

  test('a holder that does not hear of it learns at its next renewal that the key is missing', async () => {
    const held = await bench.hf.lock('a', { ttl: 900 }).acquire()
    bench.store.deafen()
    await bench.other.forceRelease('a')
    expect(held.lost).toBeNull()
    await pass(300)
    expect(held.lost).toBe('missing')
  })

  test('a hold of the same process is told without the store', async () => {
    const held = await bench.hf.lock('a').acquire()
    bench.store.deafen()
    await bench.hf.forceRelease('a')
    expect(held.lost).toBe('forced')
  })

  test('that was not answered is unknown, and a repeat is safe', async () => {
    const held = await bench.other.lock('a').acquire()
    bench.store.trouble('force', 'unanswered')
    const outcome = await bench.outcomeOf(bench.hf.forceRelease('a', { owner: held.owner }), 1_000)
    expect(outcome).toMatchObject({ error: { code: 'STORE_UNAVAILABLE', outcome: 'unknown' } })
    bench.store.heal()
    expect(await bench.hf.forceRelease('a', { owner: held.owner })).toMatchObject({ released: false })
  })
})
