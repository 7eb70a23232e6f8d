import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LimiterBench } from '../testing/limiter-bench.ts'
import type { Limiter } from './limiter.ts'
import { slidingWindow } from './policies.ts'

/**
 * Goal: closing waits for what is under way, and nothing is sent after it.
 * Method: calls that are answered late, or whose limits are told late, under a virtual clock.
 */

const LATE = 50
const policy = slidingWindow({ limit: 3, per: '1m' })

let bench: LimiterBench

beforeEach(() => {
  bench = new LimiterBench()
})
afterEach(() => Promise.all([bench.hf.close(), bench.other.close()]))

const calls = {
  take: (limiter: Limiter) => limiter.take('u'),
  peek: (limiter: Limiter) => limiter.peek('u'),
  reserve: (limiter: Limiter) => limiter.reserve('u'),
  reset: (limiter: Limiter) => limiter.reset('u'),
  block: (limiter: Limiter) => limiter.block('u', '1s'),
  unblock: (limiter: Limiter) => limiter.unblock('u'),
}

describe.each(Object.entries(calls))('%s', (name, call) => {
  test('is waited for when everything is closed', async () => {
    bench.trouble({ answeredAfter: LATE })
    const order: string[] = []
    const called = call(bench.hf.limiter('api', policy)).then(() => order.push(name))
    const closed = bench.hf.close().then(() => order.push('closed'))
    await bench.clock.advance(LATE)
    await Promise.all([called, closed])
    expect(order).toEqual([name, 'closed'])
  })

  test('is refused, and not sent, when its limits are told only after that', async () => {
    let tell!: () => void
    const limitFor = (): Promise<null> => new Promise((resolve) => (tell = () => resolve(null)))
    const called = call(bench.hf.limiter('api', policy, { limitFor }))
    called.catch(() => undefined)
    await bench.hf.close()
    tell()
    await expect(called).rejects.toMatchObject({ code: 'CLOSED' })
    expect(bench.count()).toBe(0)
  })
})
