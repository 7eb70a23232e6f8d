import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { InvalidArgumentError } from './errors.ts'
import { createHoldfast, Holdfast } from './holdfast.ts'
import type { Store } from './store/contract.ts'
import { memoryStore } from './stores/memory/index.ts'
import { LockBench } from './testing/lock-bench.ts'
import { seededRandomness } from './testing/seeded-randomness.ts'
import { VirtualClock } from './testing/virtual-clock.ts'

const loose = (value: unknown): never => value as never

function refusalOf(run: () => unknown): InvalidArgumentError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('it was not refused')
}

describe('createHoldfast', () => {
  test.each([
    ['prefix', ''],
    ['prefix', 'a b'],
    ['prefix', '{shop}'],
    ['prefix', 'a|b'],
    ['prefix', 'x'.repeat(129)],
    ['prefix', null],
    ['prefix', 12],
    ['alsoPrefix', ''],
    ['alsoPrefix', 'a}'],
    ['alsoPrefix', 'holdfast:v1'],
    ['budget', 0],
    ['budget', 29],
    ['budget', '61s'],
    ['budget', '1 sec'],
    ['budget', NaN],
    ['budget', null],
    ['closeOn', 'SIGTERM'],
    ['closeOn', ['SIGNOTHING']],
    ['closeOn', [15]],
    ['closeOn', {}],
    ['closeOn', null],
    ['traceId', 'id'],
    ['traceId', null],
    ['traceId', async () => 'id'],
    ['store', {}],
    ['store', null],
    ['store', 'redis://localhost'],
    ['store', { call: () => {}, status: 'ready' }],
    ['store', memoryStore],
  ])('refuses %s: %j, before anything is opened', (option, value) => {
    const open = vi.fn(memoryStore().open)
    const store: Store = { ...memoryStore(), open }
    const refusal = refusalOf(() => createHoldfast(loose({ store, [option]: value })))
    expect(refusal.option).toBe(option)
    expect(refusal.message).toMatch(new RegExp(`^${option}: .+\\. (Give|Leave) .+`))
    expect(open).not.toHaveBeenCalled()
    expect(process.listenerCount('SIGTERM')).toBe(0)
  })

  test.each([
    ['Prefix', 'prefix'],
    ['keyPrefix', 'prefix'],
    ['timeout', null],
    ['closeon', 'closeOn'],
    ['client', null],
  ])('refuses the unknown option %s', (option, nearest) => {
    const refusal = refusalOf(() => createHoldfast(loose({ store: memoryStore(), [option]: 'x' })))
    expect(refusal.option).toBe(`createHoldfast.${option}`)
    if (nearest !== null) expect(refusal.message).toContain(`Did you mean "${nearest}"?`)
  })

  test.each([null, 'redis', 5, []])('refuses %j for options', (options) => {
    expect(refusalOf(() => createHoldfast(loose(options))).option).toBe('createHoldfast')
  })

  test('says once aloud that without a store locks are in memory; with memoryStore() it was said', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    try {
      const meant = createHoldfast({ store: memoryStore() })
      expect(warning).not.toHaveBeenCalled()
      const hf = createHoldfast()
      expect(warning).toHaveBeenCalledTimes(1)
      expect(warning.mock.calls[0]?.[0]).toContain('in memory')
      expect(warning.mock.calls[0]?.[1]).toMatchObject({
        type: 'HoldfastWarning',
        code: 'HOLDFAST_MEMORY_STORE',
      })
      await hf.lock('a').run(() => undefined)
      await hf.lock('a').run(() => undefined)
      expect(warning).toHaveBeenCalledTimes(1)
      await hf.close()
      await meant.close()
    } finally {
      warning.mockRestore()
    }
  })

  test('two instances without a store do not share one', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const [one, two] = [createHoldfast(), createHoldfast()]
    warning.mockRestore()
    await one.lock('a').acquire()
    expect(await two.lock('a').tryAcquire()).not.toBeNull()
    await Promise.all([one.close(), two.close()])
  })

  test('tells what its store can', () => {
    const hf = createHoldfast({ store: memoryStore() })
    expect(hf).toBeInstanceOf(Holdfast)
    expect(hf.traits).toEqual(memoryStore().traits)
  })

  test('makes no call, and sets no timer', () => {
    const bench = new LockBench()
    bench.hf.lock('a')
    expect([bench.store.calls, bench.clock.pendingTimers]).toEqual([[], 0])
  })

  test('prefixes keep locks of one name apart', async () => {
    const store = memoryStore()
    const [one, two] = [
      createHoldfast({ store, prefix: 'one:v1' }),
      createHoldfast({ store, prefix: 'two:v1' }),
    ]
    await one.lock('a').acquire()
    expect(await two.lock('a').tryAcquire()).not.toBeNull()
    expect(await createHoldfast({ store, prefix: 'one:v1' }).lock('a').tryAcquire()).toBeNull()
    await Promise.all([one.close(), two.close()])
  })

  test.each<[string, () => Promise<void>]>([
    ['never ends', () => new Promise(() => undefined)],
    ['fails', () => Promise.reject(new Error('of the store'))],
    [
      'throws',
      () => {
        throw new Error('of the store')
      },
    ],
  ])('closing settles within two budgets, and does not reject, when the store %s', async (_, close) => {
    const clock = new VirtualClock()
    const memory = memoryStore()
    const store: Store = { ...memory, open: (context) => ({ ...memory.open(context), close }) }
    const hf = createHoldfast({ store, clock, budget: 300 })
    let closed = false
    const closing = hf.close().then(() => (closed = true))
    await clock.advance(600)
    expect(closed).toBe(true)
    await closing
    expect(clock.pendingTimers).toBe(0)
  })

  test('uses the clock and the randomness that it was given, and no other', async () => {
    const owners: string[] = []
    for (let i = 0; i < 2; i += 1) {
      const hf = createHoldfast({
        store: memoryStore(),
        clock: new VirtualClock(),
        randomness: seededRandomness(7),
      })
      const held = await hf.lock('a').acquire()
      owners.push(`${held.owner} ${held.fence} ${held.remaining()}`)
    }
    expect(owners[0]).toBe(owners[1])
  })
})

describe('the trace id', () => {
  const valueOf = async (traceId: () => unknown) => {
    const bench = new LockBench({ traceId: loose(traceId) })
    const acquired = bench.hear('holdfast:lock:acquired')
    await bench.hf.lock('a').acquire()
    bench.end()
    return acquired[0]?.trace
  }

  test('rides along when it is readable, and else is left out', async () => {
    expect(await valueOf(() => '4bf92f3577b34da6')).toBe('4bf92f3577b34da6')
    for (const id of [undefined, null, '', 'a b', 'a;b', 'a#b', '{a}', 'x'.repeat(65), 12, {}]) {
      expect(await valueOf(() => id)).toBeNull()
    }
  })

  test('that fails does not keep a lock from being taken', async () => {
    expect(await valueOf(() => Promise.reject(new Error('no span')))).toBeNull()
    expect(
      await valueOf(() => {
        throw new Error('no span')
      }),
    ).toBeNull()
  })
})

describe('close', () => {
  let bench: LockBench

  beforeEach(() => {
    bench = new LockBench()
  })

  afterEach(() => bench.end())

  test('gives back what is held, and tells the holders', async () => {
    const held = await bench.hf.lock('a').acquire()
    const { signal } = held
    await bench.hf.close()
    expect(await bench.other.inspect('a')).toBeNull()
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'released' })
    expect(() => held.assertHeld()).toThrow()
    expect(bench.clock.pendingTimers).toBe(0)
  })

  test('with release: false leaves it to its expiry, and renews it no more', async () => {
    const held = await bench.hf.lock('a', { ttl: 900 }).acquire()
    await bench.hf.close({ release: false })
    expect(await bench.other.inspect('a')).toMatchObject({ owner: held.owner })
    expect(() => held.assertHeld()).toThrow()
    await bench.clock.advance(900)
    expect(await bench.other.inspect('a')).toBeNull()
    expect(bench.store.count('renew')).toBe(0)
  })

  test('can be called again and at once, by dispose too', async () => {
    await Promise.all([bench.hf.close(), bench.hf.close({ release: false }), bench.hf[Symbol.asyncDispose]()])
    await bench.hf.close()
  })

  test('settles within two budgets, though the store is silent, and never rejects', async () => {
    for (const trouble of ['swallowed', 'unanswered', 'refused', 'cut', 'unsent'] as const) {
      const troubled = new LockBench()
      await troubled.hf.lock('a').acquire()
      await troubled.hf.lock('b').acquire()
      troubled.store.trouble('release', trouble)
      expect(await troubled.outcomeOf(troubled.hf.close(), 2_000)).toEqual({ value: undefined })
      troubled.end()
    }
  })

  test('stops listening to signals', async () => {
    const count = () => process.listenerCount('SIGUSR2')
    const before = count()
    const hf = createHoldfast({ store: memoryStore(), closeOn: ['SIGUSR2'] })
    expect(count()).toBe(before + 1)
    await hf.close()
    expect(count()).toBe(before)
  })
})
