import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bounds } from '../defaults.ts'
import { StoreRefusedError, StoreUnavailableError } from '../errors.ts'
import { LimiterBench, type LimitTrouble } from '../testing/limiter-bench.ts'
import type { Decision } from './decision.ts'
import { LocalLimits, shareOf } from './local-limits.ts'
import type { StoreErrorChoice } from './options.ts'
import { concurrency, fixedWindow, leakyBucket, slidingWindow, tokenBucket } from './policies.ts'

/**
 * Goal: when the store does not decide, every call settles within the budget, as the caller chose; and all is as before once
 * it decides again.
 * Method: trouble between a limiter and a store in memory, under a virtual clock.
 */

const BUDGET = 100

/** Every way in which a store is down, and the reason that is told. */
const outages: readonly (readonly [string, LimitTrouble, string])[] = [
  ['stopped', 'swallowed', 'silent'],
  ['not connected', 'unsent', 'connection'],
  ...['READONLY', 'OOM', 'LOADING', 'CLUSTERDOWN', 'NOAUTH'].map((word) => [word, word, word] as const),
] as never

let bench: LimiterBench

beforeEach(() => {
  bench = new LimiterBench()
})

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
  bench.end()
})

const two = slidingWindow({ limit: 2, per: '1m' })
const limiterThat = (onStoreError: StoreErrorChoice, instances = 1) =>
  bench.hf.limiter('api', two, { onStoreError, instances, rememberFor: 0 })

/** What a take comes to within one budget; it must settle by then. */
async function taken(take: Promise<Decision>): Promise<Decision | Error> {
  let settled: Decision | Error | null = null
  take.then(
    (decision) => (settled = decision),
    (error: Error) => (settled = error),
  )
  await bench.clock.advance(BUDGET)
  if (settled === null) throw new Error('it did not settle within the budget')
  return settled
}

describe('a store that decides', () => {
  test('E1: a denial is no error: what stands in for the store is not asked', async () => {
    const states = bench.hear('holdfast:limit:store-state')
    for (const onStoreError of ['local', 'allow', 'deny', 'throw'] as const) {
      const limiter = bench.hf.limiter(onStoreError, two, { onStoreError, rememberFor: 0 })
      const decisions = [await limiter.take('u'), await limiter.take('u'), await limiter.take('u')]
      expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
        [true, 'store'],
        [true, 'store'],
        [false, 'store'],
      ])
    }
    expect(states).toEqual([])
  })
})

describe.each(outages)('E2: a store that is down: %s', (_name, trouble, reason) => {
  test('throws by default, within the budget, and nothing that looks like a denial', async () => {
    const limiter = limiterThat('throw')
    bench.trouble(trouble)
    for (const call of [() => limiter.take('u'), () => limiter.peek('u'), () => limiter.waitFor('u')]) {
      const error = await taken(call())
      expect(error).toBeInstanceOf(Error)
      const silent = trouble === 'swallowed' || trouble === 'unsent'
      expect(error).toBeInstanceOf(silent ? StoreUnavailableError : StoreRefusedError)
      expect(error).not.toHaveProperty('allowed')
    }
  })

  test('denies, allows or limits locally, as chosen, and says so', async () => {
    const told = bench.hear('holdfast:limit:decided')
    bench.trouble(trouble)
    const decide = async (onStoreError: StoreErrorChoice) => {
      const limiter = bench.hf.limiter(onStoreError, two, { onStoreError, rememberFor: 0 })
      const decisions = []
      for (let i = 0; i < 3; i += 1) decisions.push(await taken(limiter.take('u')))
      return decisions.map((decision) => {
        const { allowed, source } = decision as Decision
        return [allowed, source]
      })
    }
    expect(await decide('deny')).toEqual(Array(3).fill([false, 'unavailable']))
    expect(await decide('allow')).toEqual(Array(3).fill([true, 'unavailable']))
    expect(await decide('local')).toEqual([
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
    ])
    expect(told.map(({ source }) => source)).toEqual([
      ...Array.from({ length: 6 }, () => 'unavailable'),
      ...Array.from({ length: 3 }, () => 'local'),
    ])
  })

  test('E23: from the start, and flapping three times: the choice holds, and the store decides again each time', async () => {
    const states = bench.hear('holdfast:limit:store-state')
    const limiter = limiterThat('allow')
    for (let i = 0; i < 3; i += 1) {
      bench.trouble(trouble)
      for (let call = 0; call < 5; call += 1)
        expect(await taken(limiter.take(`u${i}`))).toMatchObject({ source: 'unavailable' })
      bench.heal()
      const after = []
      for (let call = 0; call < 3; call += 1) after.push(await taken(limiter.take(`u${i}`)))
      expect(after).toMatchObject([
        { allowed: true, source: 'store' },
        { allowed: trouble !== 'unanswered', source: 'store' },
        { allowed: false, source: 'store' },
      ])
    }
    const about = { limiter: 'api', store: 'memory', policy: 'allow' }
    const change = [
      { ...about, state: 'down', reason },
      { ...about, state: 'up', reason: null },
    ]
    expect(states).toEqual([...change, ...change, ...change])
  })
})

describe('while the store is down', () => {
  test('one call at a time finds out whether it answers; the others are answered at once', async () => {
    const limiter = limiterThat('deny')
    bench.trouble('swallowed')
    await taken(limiter.take('u'))
    const before = bench.count()
    const probe = limiter.take('u')
    const others = Array.from({ length: 50 }, (_, i) => limiter.take(`u${i}`))
    const answered = await Promise.all(others)
    expect(answered.every(({ allowed, source }) => !allowed && source === 'unavailable')).toBe(true)
    expect(bench.count()).toBe(before + 1)
    await taken(probe)
    // The probe, asked three times within its budget.
    expect(bench.count()).toBe(before + 3)
    bench.heal()
    expect(await limiter.take('u')).toMatchObject({ source: 'store' })
  })

  test('with throw the others get the error at once, and it says that nothing was done', async () => {
    const limiter = limiterThat('throw')
    bench.trouble('swallowed')
    expect(await taken(limiter.take('u'))).toMatchObject({ outcome: 'unknown', retryable: true })
    const probe = limiter.take('u').catch(() => undefined)
    await expect(limiter.take('u')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-done' })
    await bench.clock.advance(BUDGET)
    await probe
  })

  test('what is wrong with one subject alone does not count for the others', async () => {
    const states = bench.hear('holdfast:limit:store-state')
    const limiter = limiterThat('throw')
    bench.trouble('WRONGTYPE')
    await expect(limiter.take('u')).rejects.toMatchObject({ code: 'STORE_REFUSED', retryable: false })
    bench.heal()
    await expect(limiter.take('v')).resolves.toMatchObject({ source: 'store' })
    expect(states).toEqual([])
  })

  test('calls that are not decisions reject in every mode, and can be repeated', async () => {
    const limiter = limiterThat('allow')
    const decision = await limiter.take('u')
    bench.trouble('unsent')
    for (const call of [
      () => limiter.refund('u', decision),
      () => limiter.reset('u'),
      () => limiter.block('u', 5),
      () => limiter.unblock('u'),
    ]) {
      const outcome = await bench.outcomeOf<unknown>(call(), BUDGET)
      expect(outcome).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } })
    }
    bench.heal()
    expect(await limiter.refund('u', decision)).toBe(true)
  })

  test('what was decided without the store is refunded where it was counted', async () => {
    const limiter = limiterThat('local')
    bench.trouble('unsent')
    const [first, second] = [await taken(limiter.take('u')), await taken(limiter.take('u'))] as [
      Decision,
      Decision,
    ]
    expect(await limiter.refund('u', first)).toBe(true)
    expect(await limiter.refund('u', first)).toBe(false)
    expect(await taken(limiter.take('u'))).toMatchObject({ allowed: true, source: 'local' })
    expect(await taken(limiter.take('u'))).toMatchObject({ allowed: false, source: 'local' })
    expect(await limiter.refund('u', second)).toBe(true)
    expect(bench.count('adjust')).toBe(0)
    const allowing = bench.hf.limiter('allow', two, { onStoreError: 'allow' })
    expect(await limiter.refund('u', first)).toBe(false)
    expect(await allowing.refund('u', (await taken(allowing.take('u'))) as Decision)).toBe(false)
  })

  test('E24: the local limit is the share of one instance', async () => {
    const limiter = bench.hf.limiter('shared', slidingWindow({ limit: 10, per: '1m' }), {
      onStoreError: 'local',
      instances: 4,
    })
    bench.trouble('unsent')
    const decisions = []
    for (let i = 0; i < 4; i += 1) decisions.push(await taken(limiter.take('u')))
    expect(decisions).toMatchObject([
      { allowed: true },
      { allowed: true },
      { allowed: false },
      { allowed: false },
    ])
    // Above the share, and not above the whole: it may pass when the store is back.
    expect(await taken(limiter.take('v', { cost: 3 }))).toMatchObject({ allowed: false, never: false })
    expect(await taken(limiter.take('v', { cost: 11 }))).toMatchObject({ allowed: false, never: true })
    const few = bench.hf.limiter('few', two, { onStoreError: 'local', instances: 100 })
    expect(await taken(few.take('u'))).toMatchObject({ allowed: true })
    expect(await taken(few.take('u'))).toMatchObject({ allowed: false })
  })

  test('E24: many more addresses than are kept fill no memory', () => {
    const limits = new LocalLimits(bench.clock, 'api')
    const policies = [slidingWindow({ limit: 1_000, per: '1m' })] as const
    const how = { policies, instances: 2, cost: 1, id: 'x', countDenied: false, returnAfter: null }
    for (let i = 0; i < 200_000; i += 1) limits.take({ ...how, subject: String(i) })
    expect(limits.size).toBeLessThanOrEqual(bounds.localSubjects)
    // The last are the ones that are known.
    expect(limits.peek({ ...how, subject: '199999', cost: 500 }).allowed).toBe(false)
    expect(limits.peek({ ...how, subject: '0', cost: 500 }).allowed).toBe(true)
  })

  test('a share slows the flow down and is never less than one', () => {
    expect(shareOf(tokenBucket({ capacity: 10, refill: 1, per: '1s' }), 4)).toMatchObject({
      capacity: 2,
      refill: 1,
      per: 4_000,
    })
    expect(shareOf(leakyBucket({ capacity: 3, rate: 5, per: '1s' }), 4)).toMatchObject({
      capacity: 1,
      rate: 5,
      per: 4_000,
    })
    expect(shareOf(fixedWindow({ limit: 9, per: '1s' }), 4)).toMatchObject({ limit: 2, per: 1_000 })
    expect(shareOf(concurrency({ limit: 3 }), 4)).toMatchObject({ limit: 1 })
  })

  test('a limiter in use while the store fails and comes back admits the limit and the share at most', async () => {
    const limiter = bench.hf.limiter('w', slidingWindow({ limit: 10, per: '1m' }), {
      onStoreError: 'local',
      instances: 2,
    })
    const admitted: Decision[] = []
    const take = async () => {
      const decision = (await taken(limiter.take('u'))) as Decision
      if (decision.allowed) admitted.push(decision)
    }
    for (let i = 0; i < 8; i += 1) await take()
    bench.trouble('unsent')
    for (let i = 0; i < 20; i += 1) await take()
    bench.heal()
    for (let i = 0; i < 20; i += 1) await take()
    expect(admitted.filter(({ source }) => source === 'store')).toHaveLength(10)
    expect(admitted.filter(({ source }) => source === 'local')).toHaveLength(5)
  })
})
