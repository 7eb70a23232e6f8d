import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { InvalidArgumentError, LockLostError, LockTimeoutError } from '../errors.ts'
import { LockBench } from '../testing/lock-bench.ts'
import type { Held } from './held.ts'
import type { Lock } from './lock.ts'

/**
 * Goal: a flow that holds a lock takes a share of it instead of waiting for itself, two branches of a flow exclude each
 * other, and the lock is given back once, by the last.
 * Method: a virtual clock, and a store that counts its calls.
 */

let bench: LockBench
let lock: Lock

beforeEach(() => {
  bench = new LockBench()
  lock = bench.hf.lock('a', { reentrant: true, wait: 1_000, ttl: 900 })
})

afterEach(() => bench.end())

const calls = () => bench.store.calls.map(({ call }) => call)
const isFree = async (): Promise<boolean> => {
  const held = await bench.other.lock('a').tryAcquire()
  await held?.release()
  return held !== null
}
/** Lets time pass by the virtual clock. */
const pass = (ms: number) => new Promise<void>((resolve) => void bench.clock.setTimer(resolve, ms))

/** Goes `depth` deep, and tells the fences seen on the way. */
function deep(depth: number, visit: (held: Held) => Promise<void>): Promise<void> {
  return lock.run(async (held) => {
    await visit(held)
    if (depth > 1) await deep(depth - 1, visit)
  })
}

function deepWithin(
  depth: number,
  outer: Held | undefined,
  visit: (held: Held) => Promise<void>,
): Promise<void> {
  return bench.hf.lock('a', { ttl: 900 }).run(
    async (held) => {
      await visit(held)
      if (depth > 1) await deepWithin(depth - 1, held, visit)
    },
    outer === undefined ? {} : { within: outer },
  )
}

describe.each([
  ['run', (visit: (held: Held) => Promise<void>) => deep(10, visit)],
  ['within', (visit: (held: Held) => Promise<void>) => deepWithin(10, undefined, visit)],
])('nested by %s', (_, tenDeep) => {
  test('C9: ten deep costs one acquire and one release, and leaves nothing behind', async () => {
    const fences = new Set<bigint>()
    await tenDeep(async (held) => {
      fences.add(held.fence)
      expect(await isFree()).toBe(false)
    })
    expect(fences.size).toBe(1)
    expect(calls()).toEqual(['acquire', 'release'])
    expect(bench.clock.pendingTimers).toBe(0)
    await bench.clock.advance(10_000)
    expect(calls()).toEqual(['acquire', 'release'])
    expect(await isFree()).toBe(true)
  })

  test('C9: what is left early gives nothing back, and the outer hold goes on being renewed', async () => {
    let depth = 0
    const work = tenDeep(async (held) => {
      depth += 1
      if (depth < 10) return
      await pass(5_000)
      held.assertHeld()
    })
    await bench.clock.advance(5_001)
    await work
    expect(bench.store.count('release')).toBe(1)
    expect(bench.store.count('renew')).toBeGreaterThanOrEqual(14)
  })
})

describe('two branches of one flow', () => {
  const branch = async (running: { now: number; most: number }, nest: () => Promise<Held | null>) => {
    const held = await nest()
    if (held === null) return 'not run'
    running.now += 1
    running.most = Math.max(running.most, running.now)
    await pass(100)
    running.now -= 1
    await held.release()
    return 'run'
  }

  test('C9: never overlap, whether they nest by run or by within', async () => {
    const running = { now: 0, most: 0 }
    const order: number[] = []
    const flow = lock.run(async (outer) => {
      const byRun = (n: number) =>
        lock.run(async () => {
          order.push(n)
          running.now += 1
          running.most = Math.max(running.most, running.now)
          await pass(50)
          running.now -= 1
        })
      const byWithin = () => branch(running, () => lock.acquire({ within: outer }))
      await Promise.all([byRun(1), byWithin(), byRun(2), byWithin(), byRun(3)])
    })
    await bench.clock.advance(2_000)
    await flow
    expect(running.most).toBe(1)
    expect(order).toEqual([1, 2, 3])
    expect(calls().filter((call) => call !== 'renew')).toEqual(['acquire', 'release'])
  })

  test('C9: a branch may itself nest, and its own branches exclude each other too', async () => {
    const log: string[] = []
    const leaf = (name: string) =>
      lock.run(async () => {
        log.push(`${name} begins`)
        await pass(10)
        log.push(`${name} ends`)
      })
    const flow = lock.run(() =>
      Promise.all(
        ['a', 'b'].map((name) => lock.run(() => Promise.all([leaf(`${name}1`), leaf(`${name}2`)]))),
      ),
    )
    await bench.clock.advance(100)
    await flow
    expect(log).toEqual(['a1', 'a2', 'b1', 'b2'].flatMap((name) => [`${name} begins`, `${name} ends`]))
  })

  test('a branch that does not wait is told who holds it, and costs nothing', async () => {
    const flow = lock.run(async (outer) => {
      const first = lock.run(() => pass(100))
      expect(await lock.tryRun(() => 1)).toEqual({ ran: false, holder: outer.owner })
      expect(await lock.tryAcquire()).toBeNull()
      expect(await lock.tryAcquire({ within: outer })).toBeNull()
      await first
      expect(await lock.tryRun(() => 1)).toEqual({ ran: true, value: 1 })
    })
    await bench.clock.advance(200)
    await flow
    expect(calls()).toEqual(['acquire', 'release'])
  })

  test('L6: a branch waits no longer than its wait, and says who holds it', async () => {
    const flow = lock.run(async (outer) => {
      const first = lock.run(() => pass(5_000))
      const began = bench.clock.monotonic()
      const refusal: unknown = await lock.run(() => 1, { wait: 300 }).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(LockTimeoutError)
      expect(refusal).toMatchObject({ holder: outer.owner })
      expect(bench.clock.monotonic() - began).toBe(300)
      const last = lock.run(() => bench.clock.monotonic() - began, { wait: 10_000 })
      await first
      expect(await last).toBe(5_000)
    })
    await bench.clock.advance(6_000)
    await flow
  })

  test('A8: a branch that is aborted while it waits rejects at once, and has no turn later', async () => {
    const reason = new Error('enough')
    const flow = lock.run(async () => {
      const controller = new AbortController()
      const first = lock.run(() => pass(500))
      const second = lock.run(() => 'ran', { signal: controller.signal })
      const third = lock.run(() => 'ran')
      controller.abort(reason)
      await expect(second).rejects.toBe(reason)
      expect(bench.clock.monotonic()).toBeLessThan(1_500)
      await first
      expect(await third).toBe('ran')
      const aborted = lock.run(() => 'ran', { signal: controller.signal })
      await expect(aborted).rejects.toBe(reason)
    })
    await bench.clock.advance(1_000)
    await flow
  })
})

describe('when the outer hold ends first', () => {
  test('detached work does not nest in a hold that is over, but acquires', async () => {
    const detached: Promise<bigint>[] = []
    let fence = 0n
    await lock.run(async (held) => {
      fence = held.fence
      const work = async (): Promise<bigint> => {
        await pass(100)
        return lock.run((own) => own.fence)
      }
      detached.push(work())
    })
    await bench.clock.advance(200)
    expect(await detached[0]).toBeGreaterThan(fence)
    expect(calls()).toEqual(['acquire', 'release', 'acquire', 'release'])
  })

  test('a branch that is still at work keeps the lock, and the last one gives it back', async () => {
    const detached: Promise<void>[] = []
    const flow = lock.run(async () => {
      detached.push(lock.run(() => pass(500)))
      await pass(1)
    })
    await bench.clock.advance(100)
    await flow
    expect(await isFree()).toBe(false)
    expect(bench.store.count('release')).toBe(0)
    await bench.clock.advance(500)
    await Promise.all(detached)
    expect(await isFree()).toBe(true)
    expect(bench.store.count('release')).toBe(1)
  })

  test('a branch that waits for its turn then acquires as any other, and no lock is left held', async () => {
    const log: string[] = []
    const branches: Promise<void>[] = []
    const flow = lock.run(async () => {
      branches.push(
        lock.run(async (held) => {
          log.push(`first ${held.fence}`)
          await pass(300)
          log.push('first ends')
        }),
        lock.run(async (held) => {
          log.push(`second ${held.fence}`)
          held.assertHeld()
          await pass(300)
        }),
      )
      await pass(1)
    })
    await bench.clock.advance(2_000)
    await flow
    await Promise.all(branches)
    expect(log[1]).toBe('first ends')
    expect(log).toHaveLength(3)
    expect(await isFree()).toBe(true)
    expect(bench.clock.pendingTimers).toBe(0)
    expect(bench.store.count('release')).toBe(2)
  })

  test('who waited for its turn, and then for the lock, waited no longer than its wait in all', async () => {
    const waits: Promise<unknown>[] = []
    const began = bench.clock.monotonic()
    const flow = lock.run(async () => {
      waits.push(lock.run(() => pass(5_000)))
      const second = lock.run(() => 'ran', { wait: 1_000 }).catch((error: unknown) => error)
      waits.push(second.then((ended) => ({ ended, after: bench.clock.monotonic() - began })))
      await pass(700)
    })
    await bench.clock.advance(6_000)
    await flow
    const [, second] = await Promise.all(waits)
    expect(second).toMatchObject({ ended: { code: 'LOCK_TIMEOUT' } })
    expect((second as { after: number }).after).toBeLessThan(1_100)
  })

  test('nobody is told that it holds what was lost while it waited for its turn', async () => {
    bench.store.trouble('renew', 'swallowed')
    const flow = lock.run(async (outer) => {
      const first = lock.run(() => pass(2_000), { wait: 0 })
      const second = lock.acquire({ within: outer, wait: 5_000 })
      const refusal: unknown = await second.catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(LockLostError)
      expect(refusal).toMatchObject({ reason: 'unreachable' })
      await first.catch(() => undefined)
    })
    const outcome = await bench.outcomeOf(flow, 6_000)
    expect(outcome).toMatchObject({ error: { code: 'LOCK_LOST', reason: 'unreachable' } })
  })

  test('a lost outer hold is not nested in: run inside it acquires anew, within it is refused', async () => {
    bench.store.trouble('renew', 'swallowed')
    const flow = lock.run(async (outer) => {
      await pass(1_000)
      expect(outer.lost).toBe('unreachable')
      await expect(lock.acquire({ within: outer })).rejects.toMatchObject({ code: 'LOCK_LOST' })
      const inner = await lock.acquire()
      expect(inner.lost).toBeNull()
      expect(inner.fence).toBeGreaterThan(outer.fence)
      await inner.release()
    })
    const outcome = await bench.outcomeOf(flow, 3_000)
    expect(outcome).toMatchObject({ error: { code: 'LOCK_LOST' } })
    expect(await isFree()).toBe(true)
  })

  test('a nested run ends with the loss of its lease, as the outer one does', async () => {
    bench.store.trouble('renew', 'swallowed')
    const seen: unknown[] = []
    const flow = lock.run(async (outer) => {
      const inner = lock.run(async (held) => {
        held.signal.addEventListener('abort', () => seen.push(held.signal.reason))
        await pass(1_000)
        return 'inner value'
      })
      seen.push(await inner.catch((error: unknown) => error))
      seen.push(outer.lost)
      return 'outer value'
    })
    const outcome = await bench.outcomeOf(flow, 2_000)
    expect(seen).toMatchObject([
      { reason: 'unreachable', work: null },
      { reason: 'unreachable', work: { value: 'inner value' } },
      'unreachable',
    ])
    expect(outcome).toMatchObject({ error: { reason: 'unreachable', work: { value: 'outer value' } } })
  })

  test('closing rejects who waits for its turn', async () => {
    const flow = lock.run(async () => {
      const first = lock.run(() => pass(500))
      const second = lock.run(() => 'ran', { wait: 60_000 })
      await pass(1)
      const closing = bench.hf.close()
      await expect(second).rejects.toMatchObject({ code: 'CLOSED' })
      expect(bench.clock.monotonic()).toBeLessThan(1_400)
      await closing
      await first
      return 'to its end'
    })
    expect(await bench.outcomeOf(flow, 5_000)).toEqual({ value: 'to its end' })
    expect(await isFree()).toBe(true)
  })

  test('a nested lease that cannot be prolonged is given up, and nothing stays held', async () => {
    const nested: Promise<unknown>[] = []
    const flow = lock.run(async () => {
      bench.store.trouble('renew', 'refused')
      nested.push(lock.acquire({ ttl: '1m' }).catch((error: unknown) => error))
      await pass(1)
    })
    await bench.clock.advance(5_000)
    await flow
    expect(await nested[0]).toMatchObject({
      code: expect.stringMatching(/^(STORE_REFUSED|LOCK_LOST)$/) as string,
    })
    expect(await isFree()).toBe(true)
    expect(bench.clock.pendingTimers).toBe(0)
  })
})

describe('leases of nested holds', () => {
  test('C13: a shorter one never cuts the outer one, and they never add up', async () => {
    await lock.run(async (outer) => {
      const before = outer.remaining()
      const inner = await lock.acquire({ ttl: 100 })
      expect(outer.remaining()).toBe(before)
      expect((await bench.hf.inspect('a'))?.remaining).toBe(900)
      await inner.release()
      for (let i = 0; i < 10; i += 1) await lock.run(() => undefined, { ttl: 900 })
      expect((await bench.hf.inspect('a'))?.remaining).toBe(900)
      expect(outer.remaining()).toBe(before)
    })
    expect(calls().filter((call) => call === 'renew')).toEqual([])
  })

  test('C13: a longer one prolongs the lease, with one round trip', async () => {
    await lock.run(async (outer) => {
      const inner = await lock.acquire({ ttl: '1m' })
      expect((await bench.hf.inspect('a'))?.remaining).toBe(60_000)
      expect(outer.remaining()).toBe(inner.remaining())
      expect(outer.remaining()).toBeGreaterThan(59_000)
      expect(bench.store.count('renew')).toBe(1)
      await inner.release()
      expect(outer.remaining()).toBeGreaterThan(59_000)
    })
  })

  test('a nested hold says "released" once it is left, though the outer one goes on', async () => {
    await lock.run(async (outer) => {
      const inner = await lock.acquire()
      expect(await inner.release()).toEqual({ released: true, confirmed: false })
      expect(() => inner.assertHeld()).toThrow(LockLostError)
      expect(inner.remaining()).toBe(0)
      await expect(inner.extend('1m')).rejects.toMatchObject({ reason: 'released' })
      await expect(lock.acquire({ within: inner })).rejects.toMatchObject({ reason: 'released' })
      expect(await inner.release()).toEqual({ released: true, confirmed: false })
      outer.assertHeld()
    })
    expect(bench.store.count('release')).toBe(1)
  })
})

describe('what does not nest', () => {
  test('a lock without `reentrant` times out on itself, and costs no storage', async () => {
    const plain = bench.hf.lock('a', { wait: 300 })
    const flow = plain.run(() => plain.run(() => 1))
    expect(await bench.outcomeOf(flow, 2_000)).toMatchObject({ error: { code: 'LOCK_TIMEOUT' } })
  })

  test('another name, another key, another instance', async () => {
    const flow = lock.run(async (outer) => {
      expect(await bench.hf.lock('b', { reentrant: true }).tryRun(() => 1)).toEqual({ ran: true, value: 1 })
      expect(await bench.hf.lock('a', { reentrant: true, key: 'k' }).tryRun(() => 1)).toMatchObject({
        ran: true,
      })
      expect(await bench.other.lock('a', { reentrant: true }).tryRun(() => 1)).toEqual({
        ran: false,
        holder: outer.owner,
      })
    })
    await bench.clock.settle()
    await flow
  })

  test('`within` a hold of another lock is refused, and no call is made', async () => {
    const other = await bench.hf.lock('b').acquire()
    const before = bench.store.calls.length
    for (const within of [other, await bench.other.lock('c').acquire()]) {
      const refusal: unknown = await lock.acquire({ within }).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(InvalidArgumentError)
      expect(refusal).toMatchObject({ option: 'within' })
      expect((refusal as Error).message).toContain(`"${within.name}"`)
    }
    expect(bench.store.calls.length).toBe(before)
  })

  test('`within` a hold of the same name that another instance made is refused', async () => {
    const held = await bench.other.lock('a').acquire()
    await expect(lock.acquire({ within: held })).rejects.toMatchObject({ option: 'within' })
  })
})

test('the storage that slows every await down is made at the first reentrant run, not before', async () => {
  const run = vi.spyOn(AsyncLocalStorage.prototype, 'run')
  const getStore = vi.spyOn(AsyncLocalStorage.prototype, 'getStore')
  try {
    const plain = bench.hf.lock('a')
    await plain.run(() => undefined)
    const held = await plain.acquire()
    await (await plain.acquire({ within: held })).release()
    await held.release()
    await (await lock.acquire()).release()
    await bench.hf.inspect('a')
    expect([run.mock.calls.length, getStore.mock.calls.length]).toEqual([0, 0])
    await lock.run(() => undefined)
    expect(run.mock.calls.length).toBe(1)
  } finally {
    run.mockRestore()
    getStore.mockRestore()
  }
})
