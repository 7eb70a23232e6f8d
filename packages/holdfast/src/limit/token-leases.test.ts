import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bounds } from '../defaults.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import type { Decision } from './decision.ts'
import type { Limiter } from './limiter.ts'
import { fixedWindow, slidingWindow, tokenBucket } from './policies.ts'

/**
 * Goal: tokens that are taken in advance save round trips, and no limit is exceeded by more than is stated.
 * Method: a virtual clock; the calls of the store are counted, and what was admitted is counted in every window.
 */

let bench: LimiterBench

beforeEach(() => {
  bench = new LimiterBench()
})

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
  bench.end()
})

describe('leased tokens', () => {
  test('cost a round trip for each lease', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1_000, per: '1m' }), { lease: 100 })
    const sources = []
    for (let i = 0; i < 1_000; i += 1) sources.push(await limiter.take('u'))
    expect(sources.every(({ allowed, source }) => allowed && source === 'leased')).toBe(true)
    expect(bench.count()).toBe(10)
    expect(sources.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 1_000 }, (_, i) => 999 - i),
    )
    expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'store', retryAfter: 60_000 })
    expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'remembered' })
  })

  test('many calls at once share the asks, and nothing is left over beyond a lease', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1_000, per: '1m' }), { lease: 100 })
    const decisions = await Promise.all(Array.from({ length: 250 }, () => limiter.take('u')))
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    expect(bench.count()).toBeLessThanOrEqual(3)
    const { remaining } = await bench.other
      .limiter('api', slidingWindow({ limit: 1_000, per: '1m' }))
      .peek('u')
    expect(remaining + 1).toBeGreaterThanOrEqual(650)
  })

  test('many calls at once that come while one is under way are asked for together, and with it', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1_000, per: '1m' }), { lease: 100 })
    bench.trouble({ answeredAfter: 20 }, 'take')
    const taken = Promise.all(Array.from({ length: 250 }, () => limiter.take('u')))
    await bench.clock.advance(100)
    expect((await taken).every(({ allowed }) => allowed)).toBe(true)
    const asked = bench.calls.filter(({ call }) => call === 'take').map(({ cost }) => cost)
    expect(asked).toEqual([100, 250 + 99 - 100])
  })

  test('many calls at once, again and again, get a lease beyond what they want with each ask', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10_000, per: '1m' }), { lease: 100 })
    const loop = async () => {
      for (let i = 0; i < 50; i += 1) expect(await limiter.take('u')).toMatchObject({ allowed: true })
    }
    await Promise.all(Array.from({ length: 64 }, loop))
    const asked = bench.calls.filter(({ call }) => call === 'take').map(({ cost }) => cost)
    expect(asked.slice(1, -1)).toEqual(asked.slice(1, -1).map(() => 64 + 99))
    const { remaining } = await bench.other
      .limiter('api', slidingWindow({ limit: 10_000, per: '1m' }))
      .peek('u')
    expect(10_000 - remaining - 1).toBeLessThan(64 * 50 + 100)
  })

  test('what costs more than fits at all is told so, and does not wait for leases', async () => {
    const policy = slidingWindow({ limit: 15, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 50 })
    expect(await limiter.take('u', { cost: 20 })).toMatchObject({ allowed: false, never: true })
    expect(await bench.other.limiter('api', policy).take('u', { cost: 15 })).toMatchObject({ allowed: true })
  })

  test('of several leases pass one by one, also those that come back', async () => {
    const policy = slidingWindow({ limit: 1_000, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 10 })
    const costs = [7, 7, 2, 3, 7, 1, 1, 9, 10, 3]
    const decisions = []
    for (const cost of costs) decisions.push(await limiter.take('u', { cost }))
    for (const decision of decisions.slice(0, 4)) expect(await limiter.refund('u', decision)).toBe(true)
    await bench.hf.close()
    const { remaining } = await bench.other.limiter('api', policy).peek('u')
    expect(1_000 - remaining - 1).toBe(7 + 1 + 1 + 9 + 10 + 3)
  })

  test('what is left of the limit passes one by one where a whole lease does not', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 15, per: '1m' }), { lease: 10 })
    const decisions = []
    for (let i = 0; i < 16; i += 1) decisions.push(await limiter.take('u'))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([
      ...Array.from({ length: 15 }, () => true),
      false,
    ])
  })

  test('are not used after their window, also where the machine slept through its end', async () => {
    const limiter = bench.hf.limiter('api', fixedWindow({ limit: 100, per: '1s' }), { lease: 10 })
    await limiter.take('u')
    await limiter.take('u')
    expect(bench.count('take')).toBe(1)
    bench.clock.asleepFor(1_000)
    await limiter.take('u')
    expect(bench.count('take')).toBe(2)
  })

  test('that are not used are given back', async () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 50 })
    await limiter.take('u')
    const other = bench.other.limiter('api', policy, { rememberFor: 0 })
    expect(await other.take('u', { cost: 99 })).toMatchObject({ allowed: false, remaining: 50 })
    await bench.clock.advance(bounds.tokenLeaseLife)
    expect(await other.take('u', { cost: 99 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('also when it is closed', async () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    await bench.hf.limiter('api', policy, { lease: 50 }).take('u', { cost: 2 })
    await bench.hf.close()
    expect(await bench.other.limiter('api', policy).take('u', { cost: 98 })).toMatchObject({ allowed: true })
  })

  test('a subject that is rarely used gets small leases', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), { lease: 50 })
    for (let i = 0; i < 5; i += 1) {
      await limiter.take('u')
      await bench.clock.advance(2_000)
    }
    const asked = bench.calls.filter(({ call }) => call === 'take').map(({ cost }) => cost)
    expect(asked[0]).toBe(50)
    expect(Math.max(...asked.slice(1))).toBeLessThanOrEqual(2)
  })

  test('are given back by a refund, here while the lease lives, else on the store', async () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 10 })
    const first = await limiter.take('u', { cost: 4 })
    expect(await limiter.refund('u', first)).toBe(true)
    expect(await limiter.refund('u', first)).toBe(false)
    expect(bench.count()).toBe(1)
    const second = await limiter.take('u', { cost: 10 })
    expect(bench.count()).toBe(1)
    await bench.clock.advance(2_000)
    expect(await limiter.refund('u', second)).toBe(true)
    expect(await bench.other.limiter('api', policy).take('u', { cost: 100 })).toMatchObject({ allowed: true })
  })

  test('a refund that failed gives back when it is repeated', async () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 10 })
    const decision = await limiter.take('u', { cost: 10 })
    await bench.clock.advance(2_000)
    bench.trouble('unsent')
    expect(await bench.outcomeOf<unknown>(limiter.refund('u', decision), 100)).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE' },
    })
    bench.heal()
    expect(await limiter.refund('u', decision)).toBe(true)
    expect(await limiter.refund('u', decision)).toBe(false)
    expect(await bench.other.limiter('api', policy).take('u', { cost: 100 })).toMatchObject({ allowed: true })
  })

  test('refunds of one lease give back each its own, at once or one after the other, also when one is unknown', async () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 9 })
    const other = bench.other.limiter('api', policy)
    const decisions = []
    for (const cost of [1, 3, 5]) decisions.push(await limiter.take('u', { cost }))
    const [one, three, five] = decisions as [Decision, Decision, Decision]
    await other.take('u', { cost: 50 })
    const left = async () => (await other.peek('u')).remaining + 1
    expect(await left()).toBe(41)
    await bench.clock.advance(2_000)
    bench.trouble('unanswered', 'adjust')
    expect(await bench.outcomeOf<unknown>(limiter.refund('u', one), 100)).toMatchObject({
      error: { outcome: 'unknown' },
    })
    bench.heal()
    expect(await Promise.all([three, five].map((each) => limiter.refund('u', each)))).toEqual([true, true])
    expect(await left()).toBe(49)
    expect(await limiter.refund('u', one)).toBe(true)
    expect(await left()).toBe(50)
  })

  test('three refunds of one lease at once give back all three', async () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 9 })
    const decisions: Decision[] = []
    for (const cost of [1, 3, 5]) decisions.push(await limiter.take('u', { cost }))
    await bench.clock.advance(2_000)
    await Promise.all(decisions.map((each) => limiter.refund('u', each)))
    expect((await bench.other.limiter('api', policy).peek('u')).remaining).toBe(99)
  })

  test('that come back by refunds are held no more than a lease', async () => {
    const policy = slidingWindow({ limit: 1_000, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 100 })
    const decisions = await Promise.all(Array.from({ length: 450 }, () => limiter.take('u')))
    for (const decision of decisions) expect(await limiter.refund('u', decision)).toBe(true)
    const { remaining } = await bench.other.limiter('api', policy).peek('u')
    expect(remaining + 1).toBeGreaterThanOrEqual(900)
  })

  test('are not used in another window than the one that counted them', async () => {
    const limiter = bench.hf.limiter('api', fixedWindow({ limit: 10, per: '1s' }), { lease: 10 })
    const start = Math.ceil(bench.clock.wall() / 1_000) * 1_000
    await bench.clock.advance(start + 900 - bench.clock.wall())
    await limiter.take('u')
    await bench.clock.advance(100)
    expect(await limiter.take('u', { cost: 10 })).toMatchObject({ allowed: true, remaining: 0 })
    expect(bench.count('take')).toBe(2)
  })

  test('are not used while this process has the subject blocked, or after it reset it', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), { lease: 10 })
    await limiter.take('u')
    await limiter.block('u', '10s')
    expect(await limiter.take('u')).toMatchObject({ allowed: false, policy: 'block' })
    await limiter.unblock('u')
    await bench.clock.advance(200)
    await limiter.take('u')
    await limiter.reset('u')
    expect(await limiter.take('u', { cost: 10 })).toMatchObject({ allowed: true, remaining: 90 })
  })

  test('a block of another process is obeyed within a second', async () => {
    const policy = slidingWindow({ limit: 1_000, per: '1m' })
    const limiter = bench.hf.limiter('api', policy, { lease: 100 })
    await limiter.take('u')
    await bench.other.limiter('api', policy).block('u', '1h')
    await bench.clock.advance(bounds.tokenLeaseLife)
    expect(await limiter.take('u')).toMatchObject({ allowed: false, policy: 'block' })
  })

  test('are not for leaky buckets, slots, and denied takes that count', () => {
    const policy = slidingWindow({ limit: 100, per: '1m' })
    for (const lease of [0, -1, 1.5, NaN, '5', 100_001, null])
      expect(() => bench.hf.limiter('api', policy, { lease: lease as never })).toThrow(/^lease: /)
    expect(() => bench.hf.limiter('api', policy, { lease: 5, countDenied: true })).toThrow(
      /^lease: 5 .*countDenied/,
    )
  })

  test('a call settles within its budget, although it waited for a lease first', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), {
      lease: 10,
      onStoreError: 'deny',
      budget: 100,
    })
    bench.trouble('swallowed')
    const settled: string[] = []
    for (const subject of ['u', 'u', 'v'])
      void limiter.take(subject).then(({ source }) => settled.push(source))
    await bench.clock.advance(50)
    void limiter.take('u').then(({ source }) => settled.push(source))
    await bench.clock.advance(50)
    expect(settled.length).toBeGreaterThanOrEqual(3)
    await bench.clock.advance(50)
    expect(settled).toHaveLength(4)
  })

  test('a call that waits for a lease settles also when the subject is reset or blocked meanwhile, or all is closed', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), { lease: 2 })
    bench.trouble({ answeredAfter: 20 }, 'take')
    const ends = [() => limiter.reset('u'), () => limiter.block('u', '1s'), () => bench.hf.close()]
    const take = async (times: number) => {
      await Promise.all(Array.from({ length: times }, () => limiter.take('u').catch(() => null)))
    }
    for (const end of ends) {
      // At the end of a turn, in mid-turn; and in mid-turn when it was crowded before, so that none of them has asked yet.
      for (const [before, after] of [
        [0, 10],
        [0, 0],
        [6, 0],
      ] as const) {
        await Promise.all([take(before), bench.clock.advance(100)])
        let settled = false
        void take(5).then(() => (settled = true))
        if (after > 0) await bench.clock.advance(after)
        void end()
        await bench.clock.advance(1_000)
        expect(settled).toBe(true)
      }
    }
  })

  test('when the store fails the choice holds, and what is left of the lease is used', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 100, per: '1m' }), {
      lease: 3,
      onStoreError: 'deny',
    })
    await limiter.take('u')
    bench.trouble('unsent')
    const decisions = []
    for (let i = 0; i < 4; i += 1) decisions.push(await bench.outcomeOf(limiter.take('u'), 250))
    expect(decisions).toMatchObject([
      { value: { allowed: true, source: 'leased' } },
      { value: { allowed: true, source: 'leased' } },
      { value: { allowed: false, source: 'unavailable' } },
      { value: { allowed: false, source: 'unavailable' } },
    ])
  })
})

describe('the stated bound of leases', () => {
  const PROCESSES = 3
  const LEASE = 7
  const cases = [
    ['a sliding window', slidingWindow({ limit: 30, per: '3s' }), 30 + PROCESSES * LEASE, 3_000],
    ['a token bucket', tokenBucket({ capacity: 30, refill: 10, per: '1s' }), 60 + PROCESSES * LEASE, 3_000],
  ] as const

  /** Random takes by several processes; the times at which something was admitted, once for each token. */
  async function traffic(limiters: readonly Limiter[], seed: number): Promise<number[]> {
    const random = seededRandomness(seed)
    const times: number[] = []
    for (let i = 0; i < 1_500; i += 1) {
      // Bursts and pauses.
      if (random.fraction() < 0.3) await bench.clock.advance(Math.floor(random.fraction() ** 4 * 1_500))
      const limiter = limiters[Math.floor(random.fraction() * limiters.length)] as Limiter
      const cost = 1 + Math.floor(random.fraction() * 3)
      const decision = await limiter.take('u', { cost })
      if (!decision.allowed) continue
      if (random.fraction() < 0.1) await limiter.refund('u', decision)
      else times.push(...Array.from({ length: cost }, () => bench.clock.monotonic()))
    }
    return times
  }

  function mostIn(times: readonly number[], span: number): number {
    let [most, from] = [0, 0]
    for (let to = 0; to < times.length; to += 1) {
      while ((times[to] as number) - (times[from] as number) >= span) from += 1
      most = Math.max(most, to - from + 1)
    }
    return most
  }

  test.each(cases)(
    '%s lets through at most the limit and a lease for each process',
    async (_name, policy, most, span) => {
      for (let seed = 1; seed <= 8; seed += 1) {
        const processes = Array.from({ length: PROCESSES }, () => bench.another())
        const limiters = processes.map((hf) => hf.limiter(`seed ${seed}`, policy, { lease: LEASE }))
        expect(mostIn(await traffic(limiters, seed), span)).toBeLessThanOrEqual(most)
        await Promise.all(processes.map((hf) => hf.close()))
      }
    },
  )

  test('a fixed window is not exceeded at all', async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const processes = Array.from({ length: PROCESSES }, () => bench.another())
      const policy = fixedWindow({ limit: 30, per: '2s' })
      const limiters = processes.map((hf) => hf.limiter(`seed ${seed}`, policy, { lease: LEASE }))
      const offset = bench.clock.wall() - bench.clock.monotonic()
      const windows = new Map<number, number>()
      for (const time of await traffic(limiters, seed)) {
        const window = Math.floor((time + offset) / 2_000)
        windows.set(window, (windows.get(window) ?? 0) + 1)
      }
      expect(Math.max(...windows.values())).toBeLessThanOrEqual(30)
      await Promise.all(processes.map((hf) => hf.close()))
    }
  })
})
