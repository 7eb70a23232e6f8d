import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { concurrency, fixedWindow, slidingWindow, tokenBucket } from './policies.ts'
import { checkPolicies, KnownPolicies, LimitsBySubject, type LimitFor } from './policy-set.ts'

const loose = (value: unknown): never => value as never
const patience = { clock: new VirtualClock(), budget: 100 }
const api = slidingWindow({ limit: 100, per: '1m' })
const burst = tokenBucket({ capacity: 20, refill: 10, per: '1s' })
const hourly = slidingWindow({ limit: 1_000, per: '1h', name: 'hourly' })

describe('the policies of a limiter', () => {
  test('are one or several, by names that differ', () => {
    expect(checkPolicies(api)).toEqual([api])
    expect(checkPolicies([api, burst]).map(({ name }) => name)).toEqual(['sliding-1m', 'bucket-1s'])
    const same = [api, slidingWindow({ limit: 5, per: '1m' }), slidingWindow({ limit: 7, per: '1m' })]
    expect(checkPolicies(same).map(({ name }) => name)).toEqual([
      'sliding-1m',
      'sliding-1m-2',
      'sliding-1m-3',
    ])
  })

  test('that were given one name twice are refused', () => {
    const twice = [hourly, fixedWindow({ limit: 5, per: '1h', name: 'hourly' })]
    expect(() => checkPolicies(twice)).toThrow(/^policies: "hourly" is the name of two policies/)
  })

  test.each([[[]], [null], [undefined], [{}], ['100/m'], [[api, null]], [Array(17).fill(api)]])(
    'that are none are refused: %j',
    (value) => {
      expect(() => checkPolicies(value)).toThrow(InvalidArgumentError)
    },
  )
})

describe('limits by subject', () => {
  const limits = (base: unknown, limitFor: unknown) =>
    new LimitsBySubject(checkPolicies(base), limitFor as LimitFor, new KnownPolicies(), patience).of('u')

  test.each([
    ['nothing', undefined, 100],
    ['null', null, 100],
    ['numbers', { limit: 500 }, 500],
    ['a policy', slidingWindow({ limit: 500, per: '1m' }), 500],
    ['a policy of another length without a name', slidingWindow({ limit: 500, per: '2m' }), 500],
    ['an array', [slidingWindow({ limit: 500, per: '1m' })], 500],
  ])('for one policy: %s', (_what, returned, limit) => {
    expect(limits(api, () => returned)).toMatchObject([{ kind: 'sliding-window', name: 'sliding-1m', limit }])
  })

  test('for several: by name, as numbers or policies; the others stay', () => {
    const base = [burst, hourly]
    expect(limits(base, () => ({ hourly: { limit: 5 } }))).toEqual([burst, { ...hourly, limit: 5 }])
    expect(limits(base, () => ({ 'bucket-1s': { capacity: 7, refill: 3 } }))).toEqual([
      { ...burst, capacity: 7, refill: 3 },
      hourly,
    ])
    expect(limits(base, () => [slidingWindow({ limit: 5, per: '1h', name: 'hourly' })])).toEqual([
      burst,
      { ...hourly, limit: 5 },
    ])
    expect(limits(base, () => ({ hourly: slidingWindow({ limit: 5, per: '1h' }) }))).toEqual([
      burst,
      { ...hourly, limit: 5 },
    ])
  })

  test('may be a promise', async () => {
    expect(await limits(api, async () => ({ limit: 5 }))).toMatchObject([{ limit: 5 }])
  })

  test('that are equal are the same object', () => {
    const by = new LimitsBySubject(checkPolicies(api), () => ({ limit: 5 }), new KnownPolicies(), patience)
    expect(by.of('u')).toBe(by.of('v'))
  })

  test.each([
    ['numbers that are none', { limit: 0 }, /^slidingWindow.limit: 0/],
    ['numbers of another kind', { capacity: 5 }, /capacity: 5 is set, but there is no such option/],
    [
      'a policy of another kind',
      fixedWindow({ limit: 5, per: '1m' }),
      /"window-1m" was returned, and is the name of no policy/,
    ],
    [
      'another kind under the name',
      fixedWindow({ limit: 5, per: '1m', name: 'sliding-1m' }),
      /of the kind sliding-window/,
    ],
    ['text', 'more', /^limitFor: "more" was returned/],
  ])('refuses %s', (_what, returned, message) => {
    expect(() => limits(api, () => returned)).toThrow(message)
    expect(() => limits(api, () => returned)).toThrow(InvalidArgumentError)
  })

  test('refuses a name that no policy has', () => {
    expect(() => limits([burst, hourly], () => ({ daily: { limit: 5 } }))).toThrow(
      /^limitFor: "daily".*"bucket-1s", "hourly"/,
    )
    expect(() => limits([burst, hourly], () => ({ hourly: 5 }))).toThrow(InvalidArgumentError)
  })

  test('hold in every call; what the function throws comes out as it is', async () => {
    const bench = new LimiterBench()
    const error = new Error('theirs')
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '1m' }), {
      limitFor: (subject) => {
        if (subject === 'broken') throw error
        if (subject === 'rejected') return Promise.reject(error)
        return subject === 'paying' ? Promise.resolve({ limit: 3 }) : null
      },
    })
    expect(await limiter.take('paying', { cost: 3 })).toMatchObject({ allowed: true, limit: 3 })
    expect(await limiter.take('free', { cost: 3 })).toMatchObject({ allowed: false, never: true, limit: 1 })
    expect(await limiter.peek('paying')).toMatchObject({ allowed: false, limit: 3 })
    for (const subject of ['broken', 'rejected']) {
      for (const call of [
        () => limiter.take(subject),
        () => limiter.peek(subject),
        () => limiter.waitFor(subject),
        () => limiter.reset(subject),
      ])
        await expect(call()).rejects.toBe(error)
    }
    expect(await limiter.take('free')).toMatchObject({ allowed: true })
    await Promise.all([bench.hf.close(), bench.other.close()])
  })

  test('a lease of slots can differ as well', async () => {
    const bench = new LimiterBench()
    const limiter = bench.hf.limiter('jobs', concurrency({ limit: 1, lease: '1m' }), {
      limitFor: () => ({ lease: 300, limit: 2 }),
    })
    expect(await limiter.take('u', { cost: 2 })).toMatchObject({ allowed: true, resetAfter: 300 })
    await bench.hf.close({ release: false })
    await bench.clock.advance(300)
    expect(await bench.other.limiter('jobs', concurrency({ limit: 1, lease: '1m' })).take('u')).toMatchObject(
      {
        allowed: true,
      },
    )
    await bench.other.close()
  })

  test('refuses what is no function', () => {
    const bench = new LimiterBench()
    for (const limitFor of [5, { limit: 5 }, null, 'limit'])
      expect(() => bench.hf.limiter('api', api, loose({ limitFor }))).toThrow(
        /^limitFor: .* is not a function/,
      )
  })

  test('that never come are waited for within the budget, and hold up nobody', async () => {
    const bench = new LimiterBench()
    const limitFor = (): Promise<never> => new Promise(() => undefined)
    const limiter = bench.hf.limiter('silent', api, { limitFor, budget: '100ms' })
    const failed = { option: 'limitFor', message: expect.stringContaining('100 ms') as string }
    for (const call of [
      () => limiter.take('u'),
      () => limiter.peek('u'),
      () => limiter.reset('u'),
      () => limiter.waitFor('u', { wait: '1h' }),
    ])
      expect(await bench.outcomeOf<unknown>(call(), 100)).toMatchObject({ error: failed })
    expect(bench.clock.pendingTimers).toBe(0)
  })
})
