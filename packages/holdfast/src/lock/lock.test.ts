import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LockBench } from '../testing/lock-bench.ts'

/** Goal: what callers do with a lock comes out as promised. Method: a store in memory under a virtual clock. */

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => bench.end())

const pass = (ms: number) => bench.clock.advance(ms)

describe('a lock object', () => {
  test('holds nothing: made often, used by many calls at once', async () => {
    const locks = Array.from({ length: 5 }, () => bench.hf.lock('a', { wait: 1_000 }))
    expect(bench.store.calls).toEqual([])
    const values = Promise.all(locks.flatMap((lock, n) => [lock.run(() => n), lock.run(() => -n)]))
    await pass(100)
    expect(await values).toEqual([0, -0, 1, -1, 2, -2, 3, -3, 4, -4])
    expect(locks[0]?.name).toBe('a')
  })

  test('A9: two callers with different ttl at once: neither’s lease leaks into the other’s', async () => {
    const lock = bench.hf.lock('a', { ttl: 10_000 })
    const short = await lock.acquire({ ttl: 1_000 })
    const waiting = lock.acquire({ ttl: 60_000 })
    await pass(100)
    expect((await bench.hf.inspect('a'))?.remaining).toBe(900)
    await pass(3_000)
    expect(short.remaining()).toBeLessThanOrEqual(1_000)
    short.assertHeld()
    await short.release()
    const long = await waiting
    expect((await bench.hf.inspect('a'))?.remaining).toBe(60_000)
    await long.release()
    const byDefault = await lock.acquire()
    expect((await bench.hf.inspect('a'))?.remaining).toBe(10_000)
    await byDefault.release()
  })
})

describe('run', () => {
  test('resolves with what the work returned, and costs one acquire and one release', async () => {
    expect(await bench.hf.lock('a').run(async () => 'value')).toBe('value')
    expect(await bench.hf.lock('a').run(() => 'plain')).toBe('plain')
    expect(bench.store.calls.map(({ call }) => call)).toEqual(['acquire', 'release', 'acquire', 'release'])
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('rejects with what the work threw, whatever it is, after giving the lock back', async () => {
    const error = new Error('mine')
    const thrown: unknown[] = [error, 'text', 0, null, undefined, Object.freeze({ a: 1 })]
    for (const value of thrown) {
      const run = bench.hf.lock('a').run(() => {
        throw value
      })
      await expect(run).rejects.toBe(value)
      const later = bench.hf.lock('a').run(async () => Promise.reject(value))
      await expect(later).rejects.toBe(value)
    }
    expect(await bench.hf.inspect('a')).toBeNull()
    expect(Object.keys(error)).toEqual([])
    expect('holdfast' in error).toBe(false)
  })

  test('does not run the work without the lock', async () => {
    await bench.other.lock('a').acquire()
    let ran = 0
    const run = bench.hf.lock('a', { wait: 0 }).run(() => (ran += 1))
    await expect(run).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect(ran).toBe(0)
  })
})

describe('tryRun and tryAcquire', () => {
  test('run when the lock is free, and tell who has it when it is not', async () => {
    const lock = bench.hf.lock('a', { wait: 60_000 })
    expect(await lock.tryRun(() => 5)).toEqual({ ran: true, value: 5 })
    const holder = await bench.other.lock('a').acquire()
    expect(await lock.tryRun(() => 5)).toEqual({ ran: false, holder: holder.owner })
    expect(await lock.tryAcquire()).toBeNull()
    expect(bench.store.count('acquire')).toBe(3)
    await holder.release()
    const held = await lock.tryAcquire({ ttl: 500 })
    expect((await bench.hf.inspect('a'))?.remaining).toBe(500)
    expect(await lock.tryRun(() => 5)).toEqual({ ran: false, holder: held?.owner })
  })

  test('an error of the work or of the store is no "busy"', async () => {
    const lock = bench.hf.lock('a')
    await expect(lock.tryRun(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
    bench.store.trouble('acquire', 'refused')
    const outcomes = Promise.allSettled([lock.tryRun(() => 5), lock.tryAcquire()])
    await pass(2_000)
    expect(await outcomes).toMatchObject([
      { status: 'rejected', reason: { code: 'STORE_REFUSED' } },
      { status: 'rejected', reason: { code: 'STORE_REFUSED' } },
    ])
  })

  test('the work’s own timeout of another lock is not taken for "busy"', async () => {
    await bench.other.lock('b').acquire()
    const run = bench.hf.lock('a').tryRun(() => bench.hf.lock('b', { wait: 0 }).acquire())
    await expect(run).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', details: { lock: 'b' } })
  })
})

describe('what is told', () => {
  test('acquired: lock, key, owner, fence, ttl, trace and how long it waited', async () => {
    const traced = new LockBench({ traceId: () => '4bf92f3577b34da6' })
    const acquired = traced.hear('holdfast:lock:acquired')
    const holder = await traced.other.lock('a').acquire()
    const waiting = traced.hf.lock('a', { ttl: 700 }).acquire()
    await traced.clock.advance(400)
    await holder.release()
    const held = await waiting
    expect(acquired).toHaveLength(2)
    expect(acquired[1]).toEqual({
      lock: 'a',
      key: 'holdfast:v1:{a}:lock',
      owner: held.owner,
      fence: String(held.fence),
      waited: 400,
      ttl: 700,
      trace: '4bf92f3577b34da6',
    })
    expect(JSON.parse(JSON.stringify(acquired[1]))).toEqual(acquired[1])
    traced.end()
  })

  test('waited: every end of a wait, once', async () => {
    const waited = bench.hear('holdfast:lock:waited')
    const holder = await bench.other.lock('a').acquire()
    const reason = new Error('enough')
    const controller = new AbortController()
    const ends = Promise.allSettled([
      bench.hf.lock('a', { wait: 100 }).acquire(),
      bench.hf.lock('a').acquire({ signal: controller.signal }),
    ])
    await pass(200)
    controller.abort(reason)
    await ends
    bench.store.trouble('acquire', 'refused')
    const failing = bench.hf.lock('a', { wait: 10 }).acquire()
    await bench.outcomeOf(failing, 2_000)
    bench.store.heal()
    const closed = bench.hf.lock('a').acquire()
    closed.catch(() => undefined)
    await pass(1)
    const closing = bench.hf.close()
    await pass(3_000)
    await closing
    expect(waited.map(({ outcome }) => outcome)).toEqual([
      'acquired',
      'timeout',
      'aborted',
      'failed',
      'closed',
    ])
    expect(waited[1]).toEqual({
      lock: 'a',
      key: 'holdfast:v1:{a}:lock',
      waited: 100,
      outcome: 'timeout',
      holder: holder.owner,
    })
  })
})
