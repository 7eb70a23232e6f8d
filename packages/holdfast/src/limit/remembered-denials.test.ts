import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { instantOf } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { LimiterBench } from '../testing/limiter-bench.ts'
import { concurrency, fixedWindow, slidingWindow } from './policies.ts'
import { RememberedDenials } from './remembered-denials.ts'

const policy = slidingWindow({ limit: 4, per: '400ms' })

let bench: LimiterBench

beforeEach(() => {
  bench = new LimiterBench()
})

afterEach(async () => {
  await Promise.all([bench.hf.close(), bench.other.close()])
})

describe('a remembered denial', () => {
  test('costs no round trip, for this cost or more, until the retry', async () => {
    const limiter = bench.hf.limiter('api', policy)
    await limiter.take('u', { cost: 3 })
    const denied = await limiter.take('u', { cost: 2 })
    expect(denied).toMatchObject({ source: 'store', retryAfter: 400, remaining: 1 })
    await bench.clock.advance(150)
    const {
      cost: _cost,
      source: _source,
      policies: _policies,
      ...same
    } = { ...denied, retryAfter: 250, resetAfter: 250 }
    expect(await limiter.take('u', { cost: 2 })).toMatchObject({ ...same, cost: 2, source: 'remembered' })
    expect(await limiter.take('u', { cost: 4 })).toMatchObject({ ...same, cost: 4, source: 'remembered' })
    expect(bench.count()).toBe(2)
    expect(await limiter.take('u', { cost: 1 })).toMatchObject({ allowed: true, source: 'store' })
    expect(await limiter.take('v', { cost: 2 })).toMatchObject({ allowed: true })
    await bench.clock.advance(250)
    expect(await limiter.take('u', { cost: 2 })).toMatchObject({ allowed: true, source: 'store' })
  })

  test('is at most rememberFor old, so that what others give back is seen by then', async () => {
    const long = fixedWindow({ limit: 1, per: '1h' })
    const limiter = bench.hf.limiter('api', long, { rememberFor: 200 })
    const elsewhere = bench.other.limiter('api', long)
    const decision = await elsewhere.take('u')
    expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'store' })
    await elsewhere.refund('u', decision)
    await bench.clock.advance(199)
    expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'remembered' })
    await bench.clock.advance(1)
    expect(await limiter.take('u')).toMatchObject({ allowed: true, source: 'store' })
  })

  test('ends while the machine sleeps: its monotonic clock stands still, the wall clock does not', async () => {
    const limiter = bench.hf.limiter('api', fixedWindow({ limit: 1, per: '1h' }), { rememberFor: 200 })
    await limiter.take('u')
    expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'store' })
    bench.clock.asleepFor(199)
    expect(await limiter.take('u')).toMatchObject({ source: 'remembered' })
    bench.clock.asleepFor(1)
    expect(await limiter.take('u')).toMatchObject({ source: 'store' })
  })

  test.each([0, false] as const)('is none with rememberFor: %s', async (rememberFor) => {
    const limiter = bench.hf.limiter('api', policy, { rememberFor })
    await limiter.take('u', { cost: 4 })
    for (let i = 0; i < 3; i += 1)
      expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'store' })
  })

  test('is forgotten when this process gives back, resets or unblocks', async () => {
    const limiter = bench.hf.limiter('api', policy)
    const decision = await limiter.take('u', { cost: 4 })
    await limiter.take('u')
    await limiter.refund('u', decision)
    expect(await limiter.take('u', { cost: 4 })).toMatchObject({ allowed: true })
    await limiter.take('u')
    await limiter.reset('u')
    expect(await limiter.take('u', { cost: 4 })).toMatchObject({ allowed: true })
    await limiter.block('v', '1h')
    expect(await limiter.take('v')).toMatchObject({ policy: 'block', source: 'store' })
    expect(await limiter.take('v')).toMatchObject({ policy: 'block', source: 'remembered' })
    await limiter.unblock('v')
    expect(await limiter.take('v')).toMatchObject({ allowed: true })
  })

  test('a denial that was asked for before a refund is not remembered after it', async () => {
    const limiter = bench.hf.limiter('api', policy)
    const decision = await limiter.take('u', { cost: 4 })
    bench.trouble({ answeredAfter: 20 }, 'take')
    const asked = limiter.take('u')
    await bench.clock.advance(5)
    await limiter.refund('u', decision)
    await bench.clock.advance(15)
    expect(await asked).toMatchObject({ allowed: false })
    bench.heal()
    expect(await limiter.take('u')).toMatchObject({ allowed: true })
  })

  test('holds under the limits it was decided by, and not under others', async () => {
    let limit = 4
    const limiter = bench.hf.limiter('api', policy, { limitFor: () => ({ limit }) })
    await limiter.take('u', { cost: 4 })
    await limiter.take('u')
    expect(await limiter.take('u')).toMatchObject({ source: 'remembered' })
    limit = 5
    expect(await limiter.take('u')).toMatchObject({ allowed: true, source: 'store' })
  })

  test('slots may be given back at any time, so their denial is not remembered', async () => {
    const slots = concurrency({ limit: 1, lease: '10s' })
    const limiter = bench.hf.limiter('api', slots)
    const held = await bench.other.limiter('api', slots).take('u')
    expect(await limiter.take('u')).toMatchObject({ allowed: false, source: 'store' })
    await held.slot?.release()
    expect(await limiter.take('u')).toMatchObject({ allowed: true, source: 'store' })
  })

  test('the time of an answer is not taken off its retry: a retry at retryAfter passes', async () => {
    const limiter = bench.hf.limiter('api', policy)
    await limiter.take('u', { cost: 4 })
    bench.trouble({ answeredAfter: 30 }, 'take')
    const asked = limiter.take('u')
    await bench.clock.advance(30)
    expect(await asked).toMatchObject({ retryAfter: 400 })
    bench.heal()
    await bench.clock.advance(100)
    // By the store's clock 270 ms are left; the answer came 30 ms after the decision, and nobody here knows that.
    expect(await limiter.take('u')).toMatchObject({ source: 'remembered', retryAfter: 300 })
    await bench.clock.advance(270)
    expect(await limiter.take('u')).toMatchObject({ allowed: true })
  })

  test('so many subjects are remembered and no more', () => {
    const denials = new RememberedDenials(bench.clock)
    const policies = [policy] as const
    const parts = {
      ...{ allowed: false, never: true, remaining: 0, limit: 4, retryAfter: null, resetAfter: 0, delay: 0 },
      ...{ policy: policy.name, policies: [], source: 'store' as const, cost: 5 },
    }
    const last = 3 * bounds.rememberedSubjects
    for (let i = 0; i <= last; i += 1)
      denials.remember(`u${i}`, policies, parts, instantOf(bench.clock), 1_000)
    expect(denials.size).toBeLessThanOrEqual(bounds.rememberedSubjects)
    expect(denials.find('u0', 5, policies)).toBeNull()
    expect(denials.find(`u${last}`, 5, policies)).toMatchObject({
      never: true,
      retryAfter: null,
      source: 'remembered',
    })
    expect(denials.find(`u${last}`, 4, policies)).toBeNull()
  })
})
