import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ClosedError, InvalidArgumentError } from '../errors.ts'
import { events } from '../events/channels.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from './policies.ts'
import type { Policy } from '../store/limit/policy.ts'

/**
 * Goal: what a limiter answers is right under every kind of policy, and what cannot be asked is refused before any round trip.
 * Method: two processes over one store in memory, under a virtual clock whose windows begin at its start.
 */

const loose = (value: unknown): never => value as never
const costs = [-1, 0, NaN, Infinity, -Infinity, 0.5, 2 ** 31, 2 ** 53, '5', null, 5n, {}]

/** Ten in ten seconds, each in its own way. */
const tens: (readonly [string, Policy])[] = [
  ['fixed window', fixedWindow({ limit: 10, per: '10s' })],
  ['sliding window', slidingWindow({ limit: 10, per: '10s' })],
  ['sliding counter', slidingCounter({ limit: 10, per: '10s' })],
  ['token bucket', tokenBucket({ capacity: 10, refill: 10, per: '10s' })],
  ['leaky bucket', leakyBucket({ capacity: 10, rate: 10, per: '10s' })],
  ['concurrency', concurrency({ limit: 10, lease: '10s' })],
]

let bench: LimiterBench

beforeEach(() => {
  bench = new LimiterBench()
})

afterEach(async () => {
  bench.heal()
  await Promise.all([bench.hf.close(), bench.other.close()])
  bench.end()
})

describe('a limiter', () => {
  test('admits up to the limit, denies by a value, and tells both', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 2, per: '1m' }))
    const about = {
      limit: 2,
      policy: 'sliding-1m',
      source: 'store',
      cost: 1,
      never: false,
      wouldDeny: false,
      delay: 0,
    }
    expect(await limiter.take('u')).toMatchObject({
      ...about,
      allowed: true,
      remaining: 1,
      retryAfter: 0,
      resetAfter: 60_000,
    })
    await bench.clock.advance(1_000)
    expect(await limiter.take('u')).toMatchObject({
      ...about,
      allowed: true,
      remaining: 0,
      retryAfter: 0,
      resetAfter: 60_000,
    })
    const denied = await limiter.take('u')
    expect(denied).toMatchObject({
      ...about,
      allowed: false,
      remaining: 0,
      retryAfter: 59_000,
      resetAfter: 60_000,
    })
    expect(denied.policies).toEqual([
      {
        name: 'sliding-1m',
        kind: 'sliding-window',
        allowed: false,
        never: false,
        limit: 2,
        window: 60_000,
        remaining: 0,
        retryAfter: 59_000,
        resetAfter: 60_000,
      },
    ])
    expect(JSON.parse(JSON.stringify(denied))).toEqual({ ...denied })
    expect(await limiter.take('someone else')).toMatchObject({ allowed: true })
  })

  test('counts for all processes over one store', async () => {
    const policy = slidingWindow({ limit: 2, per: '1m' })
    await bench.hf.limiter('api', policy).take('u', { cost: 2 })
    expect(await bench.other.limiter('api', policy).take('u')).toMatchObject({ allowed: false })
    expect(await bench.other.limiter('other', policy).take('u')).toMatchObject({ allowed: true })
  })

  test('E3: of several limits all count or none; the reply names the one that refuses for longest', async () => {
    const limiter = bench.hf.limiter('api', [
      fixedWindow({ limit: 1, per: '1s', name: 'second' }),
      fixedWindow({ limit: 100, per: '1m', name: 'minute' }),
    ])
    const decisions = []
    for (let i = 0; i < 5; i += 1) decisions.push(await limiter.take('u'))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, false, false, false])
    expect(decisions[0]).toMatchObject({ policy: 'second', remaining: 0 })
    expect(decisions[1]).toMatchObject({ policy: 'second', limit: 1, retryAfter: 1_000 })
    expect((await limiter.peek('u', { cost: 1 })).policies.map(({ remaining }) => remaining)).toEqual([0, 99])
    await bench.clock.advance(1_000)
    await limiter.take('u', { cost: 1 })
    const both = bench.hf.limiter('both', [
      fixedWindow({ limit: 1, per: '1s', name: 'second' }),
      fixedWindow({ limit: 1, per: '1m', name: 'minute' }),
    ])
    await both.take('u')
    expect(await both.take('u')).toMatchObject({ policy: 'minute', retryAfter: 59_000 })
  })

  test.each(tens)('E4: %s: a cost that is denied changes nothing', async (_name, policy) => {
    for (const cost of [8, 10, 11, 100, 1e6]) {
      const limiter = bench.hf.limiter(`c${cost}`, policy)
      await limiter.take('u', { cost: 3 })
      expect(await limiter.take('u', { cost })).toMatchObject({ allowed: false, never: cost > 10 })
      expect(await limiter.take('u')).toMatchObject({ allowed: true, remaining: 6 })
    }
  })

  test('E5: denied takes count only when asked to', async () => {
    const policy = slidingWindow({ limit: 2, per: '10s' })
    for (const countDenied of [false, true]) {
      const limiter = bench.hf.limiter(`count ${countDenied}`, policy, { countDenied })
      await limiter.take('u', { cost: 2 })
      await bench.clock.advance(9_000)
      // Two tries that are denied: where they count, they are what the next has to wait for.
      const first = await limiter.take('u')
      const second = await limiter.take('u')
      expect([first.allowed, second.allowed]).toEqual([false, false])
      expect(second.source).toBe(countDenied ? 'store' : 'remembered')
      await bench.clock.advance(1_000)
      expect((await limiter.take('u')).allowed).toBe(!countDenied)
    }
  })

  test.each(tens)('E6: %s: above the capacity is never, a kind of its own', async (_name, policy) => {
    const limiter = bench.hf.limiter('api', policy)
    await limiter.take('u', { cost: 8 })
    expect(await limiter.take('u', { cost: 1e6 })).toMatchObject({
      allowed: false,
      never: true,
      retryAfter: null,
      remaining: 2,
      policy: policy.name,
    })
    expect(await limiter.take('u')).toMatchObject({ allowed: true, never: false, remaining: 1 })
  })

  test.each(tens)('E11: %s: passes at retryAfter, and not a millisecond before', async (_name, policy) => {
    const limiter = bench.hf.limiter('api', policy)
    await bench.clock.advance(1_234)
    const taken = await limiter.take('u', { cost: 10 })
    // Nobody renews: the slot ends with its lease.
    if (taken.slot !== undefined) await bench.hf.close({ release: false })
    const asks = taken.slot === undefined ? limiter : bench.other.limiter('api', policy)
    const { retryAfter } = await asks.take('u', { cost: 3 })
    expect(retryAfter).toBeGreaterThan(1)
    await bench.clock.advance((retryAfter as number) - 1)
    expect(await asks.peek('u', { cost: 3 })).toMatchObject({ allowed: false, retryAfter: 1 })
    expect(await asks.take('u', { cost: 3 })).toMatchObject({ allowed: false, retryAfter: 1 })
    await bench.clock.advance(1)
    expect(await asks.take('u', { cost: 3 })).toMatchObject({ allowed: true })
  })

  test.each(tens)('E12: %s: peek says what take will, and counts nothing', async (_name, policy) => {
    const limiter = bench.hf.limiter('api', policy, { rememberFor: 0 })
    for (const cost of [4, 4, 4, 11]) {
      const peeked = await limiter.peek('u', { cost })
      expect(await limiter.peek('u', { cost })).toEqual(peeked)
      const { slot: _slot, ...taken } = await limiter.take('u', { cost })
      expect(taken).toEqual({ ...peeked })
    }
  })

  test.each(costs.map((cost) => [cost]))('E14: refuses the cost %s before any round trip', async (cost) => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 2, per: '1m' }))
    const calls = [
      () => limiter.take('u', loose({ cost })),
      () => limiter.peek('u', loose({ cost })),
      () => limiter.waitFor('u', loose({ cost })),
      () => limiter.reserve('u', loose({ cost })),
      () => limiter.run('u', () => 1, loose({ cost })),
    ]
    for (const call of calls) {
      const error: unknown = await call().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect((error as InvalidArgumentError).option).toBe('cost')
    }
    expect(bench.count()).toBe(0)
  })

  test('refuses subjects that can be no part of a key, and takes all others', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '1m' }))
    const calls = (subject: never): Promise<unknown>[] => [
      limiter.take(subject),
      limiter.peek(subject),
      limiter.reset(subject),
      limiter.block(subject, 1),
      limiter.unblock(subject),
      limiter.waitFor(subject),
      limiter.reserve(subject),
      limiter.run(subject, () => 1),
    ]
    for (const subject of ['', '\ud800', 5, null, undefined, {}])
      for (const call of calls(loose(subject)))
        await expect(call).rejects.toBeInstanceOf(InvalidArgumentError)
    expect(bench.count()).toBe(0)
    const strange = [
      '{}',
      '*',
      'a\nb',
      '{a}{b}',
      '|',
      '%7B%7D',
      'x'.repeat(10_000),
      `${'x'.repeat(10_000)}y`,
      '🙂',
    ]
    for (const subject of strange) expect(await limiter.take(subject)).toMatchObject({ allowed: true })
    for (const subject of strange) expect(await limiter.take(subject)).toMatchObject({ allowed: false })
  })

  test('E16: a refund gives back what its take still counts, once', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '10s' }))
    const early = await limiter.take('u', { cost: 5 })
    await bench.clock.advance(6_000)
    const late = await limiter.take('u', { cost: 5 })
    await bench.clock.advance(4_000)
    expect(await limiter.refund('u', early)).toBe(false)
    expect(await limiter.take('u', { cost: 6 })).toMatchObject({ allowed: false, remaining: 5 })
    expect(await limiter.refund('u', late)).toBe(true)
    expect(await limiter.refund('u', late)).toBe(false)
    expect(await limiter.peek('u', { cost: 10 })).toMatchObject({ allowed: true })
    const denied = await limiter.take('u', { cost: 11 })
    expect(await limiter.refund('u', denied)).toBe(false)
  })

  test('a refund is of a decision, its limiter and its subject', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '10s' }))
    const decision = await limiter.take('u')
    const other = bench.hf.limiter('other', slidingWindow({ limit: 10, per: '10s' }))
    const wrong = [
      limiter.refund('v', decision),
      other.refund('u', decision),
      limiter.refund('u', { ...decision }),
    ]
    for (const refund of [...wrong, limiter.refund('u', loose(5)), limiter.refund('u', loose(null))])
      await expect(refund).rejects.toMatchObject({ option: 'decision' })
    expect(bench.count('adjust')).toBe(0)
  })

  test('E17: a block is seen by peek at once, and no call changes it', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 2, per: '1s' }))
    await limiter.block('u', '10s')
    const blocked = { allowed: false, policy: 'block', remaining: 0, never: false }
    expect(await limiter.peek('u')).toMatchObject({ ...blocked, retryAfter: 10_000, resetAfter: 10_000 })
    for (let i = 0; i < 5; i += 1) {
      expect(await limiter.take('u', { cost: 3 })).toMatchObject({
        ...blocked,
        retryAfter: 10_000 - i * 1_000,
      })
      await bench.clock.advance(1_000)
    }
    await limiter.reset('u')
    expect(await limiter.peek('u')).toMatchObject({ ...blocked, retryAfter: 5_000 })
    await bench.clock.advance(4_999)
    expect(await limiter.take('u')).toMatchObject({ ...blocked, retryAfter: 1 })
    await bench.clock.advance(1)
    expect(await limiter.take('u')).toMatchObject({ allowed: true })
    await limiter.block('u', '10s')
    await limiter.unblock('u')
    expect(await limiter.take('u')).toMatchObject({ allowed: true })
    for (const duration of [0, -1, '366d', '5', null, undefined])
      await expect(limiter.block('u', loose(duration))).rejects.toMatchObject({ option: 'duration' })
  })

  test('E18: what is given back is the take itself, not the oldest', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '10s' }))
    const first = await limiter.take('u', { cost: 5 })
    await limiter.refund('u', first)
    await bench.clock.advance(5_000)
    await limiter.take('u', { cost: 5 })
    await bench.clock.advance(5_000)
    // Five of them are five seconds old, whatever was given back before.
    expect(await limiter.take('u', { cost: 6 })).toMatchObject({ allowed: false, remaining: 5 })
    expect(await limiter.take('u', { cost: 5 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('E19: usage carries over when limits are raised or lowered in mid-window', async () => {
    let limit = 10
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '10s' }), {
      limitFor: () => ({ limit }),
    })
    await limiter.take('u', { cost: 8 })
    limit = 20
    expect(await limiter.take('u', { cost: 13 })).toMatchObject({ allowed: false, remaining: 12, limit: 20 })
    expect(await limiter.take('u', { cost: 12 })).toMatchObject({ allowed: true, remaining: 0 })
    limit = 5
    expect(await limiter.take('u')).toMatchObject({
      allowed: false,
      remaining: 0,
      limit: 5,
      retryAfter: 10_000,
    })
    await bench.clock.advance(10_000)
    expect(await limiter.take('u', { cost: 5 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('reset forgets usage, for all processes', async () => {
    const policy = slidingWindow({ limit: 2, per: '1m' })
    const limiter = bench.hf.limiter('api', policy)
    await limiter.take('u', { cost: 2 })
    expect(await limiter.take('u')).toMatchObject({ allowed: false })
    await limiter.reset('u')
    expect(await limiter.take('u')).toMatchObject({ allowed: true, remaining: 1 })
    expect(await bench.other.limiter('api', policy).peek('u', { cost: 2 })).toMatchObject({ allowed: false })
  })

  test('the policy that decides an allowed take has the least left of its limit', async () => {
    const limiter = bench.hf.limiter('api', [
      slidingWindow({ limit: 10, per: '1s', name: 'second' }),
      slidingWindow({ limit: 12, per: '1m', name: 'minute' }),
    ])
    expect(await limiter.take('u', { cost: 4 })).toMatchObject({ policy: 'second', limit: 10, remaining: 6 })
    await bench.clock.advance(1_000)
    expect(await limiter.take('u', { cost: 4 })).toMatchObject({ policy: 'minute', limit: 12, remaining: 4 })
  })

  test('in shadow mode nothing is denied, and what would be is told', async () => {
    const told = bench.hear('holdfast:limit:decided')
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '1m' }), { shadow: true })
    expect(await limiter.take('u')).toMatchObject({ allowed: true, wouldDeny: false })
    expect(await limiter.take('u')).toMatchObject({ allowed: true, wouldDeny: true, retryAfter: 60_000 })
    expect(await limiter.waitFor('u')).toMatchObject({ allowed: true, wouldDeny: true })
    expect(told.map(({ allowed, wouldDeny }) => [allowed, wouldDeny])).toEqual([
      [true, false],
      [true, true],
      [true, true],
    ])
    bench.trouble('unsent')
    expect((await bench.outcomeOf(limiter.take('v'), 200)) as object).toMatchObject({
      value: { allowed: true, source: 'unavailable' },
    })
  })

  test('tells every decision about a take', async () => {
    const told = bench.hear('holdfast:limit:decided')
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 2, per: '1m' }))
    await limiter.peek('u')
    await limiter.take('u', { cost: 2 })
    await limiter.take('u')
    const about = {
      limiter: 'api',
      subject: 'u',
      wouldDeny: false,
      never: false,
      remaining: 0,
      limit: 2,
      policy: 'sliding-1m',
    }
    expect(told).toEqual([
      { ...about, cost: 2, allowed: true, retryAfter: 0, source: 'store' },
      { ...about, cost: 1, allowed: false, retryAfter: 60_000, source: 'store' },
    ])
  })

  test('one name is one limiter within an instance; other policies under it are refused, and both are named', async () => {
    const policy = () => slidingWindow({ limit: 2, per: '1m' })
    const [one, two] = [bench.hf.limiter('api', policy()), bench.hf.limiter('api', [policy()])]
    await one.take('u', { cost: 2 })
    await one.take('u')
    expect(await two.take('u')).toMatchObject({ allowed: false, source: 'remembered' })
    expect(() => bench.hf.limiter('api', slidingWindow({ limit: 3, per: '1m' }))).toThrow(
      /slidingWindow\({ name: "sliding-1m", limit: 2, per: 60000 }\).*slidingWindow\({ name: "sliding-1m", limit: 3, per: 60000 }\)/,
    )
    expect(() => bench.other.limiter('api', slidingWindow({ limit: 3, per: '1m' }))).not.toThrow()
  })

  test('a take that is asked again after its answer was lost counts once', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '1m' }))
    bench.trouble('unanswered')
    const asked = limiter.take('u', { cost: 4 })
    await bench.clock.advance(40)
    bench.heal()
    expect(await bench.outcomeOf(asked, 40)).toMatchObject({ value: { allowed: true, remaining: 6 } })
    expect(bench.count('take')).toBe(3)
    expect(await limiter.peek('u', { cost: 6 })).toMatchObject({ allowed: true })
  })

  test('an aborted take rejects at once, and gives back what it counted', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '1m' }))
    const reason = new Error('gone')
    await expect(limiter.take('u', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(bench.count()).toBe(0)
    bench.trouble({ answeredAfter: 20 }, 'take')
    const controller = new AbortController()
    const asked = limiter.take('u', { cost: 4, signal: controller.signal })
    await bench.clock.advance(5)
    controller.abort(reason)
    await expect(asked).rejects.toBe(reason)
    await bench.clock.advance(20)
    expect(await limiter.peek('u', { cost: 10 })).toMatchObject({ allowed: true })
  })

  test('a closed instance refuses every call', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 10, per: '1m' }))
    const decision = await limiter.take('u')
    await bench.hf.close()
    const calls = [
      limiter.take('u'),
      limiter.peek('u'),
      limiter.refund('u', decision),
      limiter.reset('u'),
      limiter.block('u', 1),
      limiter.unblock('u'),
      limiter.waitFor('u'),
      limiter.reserve('u'),
      limiter.run('u', () => 1),
    ]
    await Promise.all(calls.map((call) => expect(call).rejects.toBeInstanceOf(ClosedError)))
    expect(bench.count()).toBe(1)
  })

  test('a leaky bucket tells how long to wait before going', async () => {
    const limiter = bench.hf.limiter('api', leakyBucket({ capacity: 3, rate: 1, per: '1s' }))
    const delays = []
    for (let i = 0; i < 3; i += 1) delays.push((await limiter.take('u')).delay)
    expect(delays).toEqual([0, 1_000, 2_000])
    expect(await limiter.take('u')).toMatchObject({ allowed: false, delay: 0, retryAfter: 1_000 })
  })
})

describe('events', () => {
  test('cost nothing when nobody listens: no payload is made', async () => {
    const limiter = bench.hf.limiter('api', slidingWindow({ limit: 1, per: '1m' }))
    const publish = vi.spyOn(events.limitDecided, 'publish')
    try {
      await limiter.take('u')
      expect(publish).not.toHaveBeenCalled()
      bench.hear('holdfast:limit:decided')
      await limiter.take('u')
      expect(publish).toHaveBeenCalledTimes(1)
    } finally {
      publish.mockRestore()
    }
  })
})
