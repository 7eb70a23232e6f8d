import { afterEach, describe, expect, test, vi } from 'vitest'
import { ClosedError, InvalidArgumentError, StoreRefusedError, StoreUnavailableError } from '../errors.ts'
import type { Decision } from '../limit/decision.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { rateLimit } from './index.ts'
import type { RateLimitOptions, RequestLimiter } from './options.ts'
import type { HttpRequest } from './request.ts'

/** Goal: what becomes of a request. Method: a limiter that answers as told, and writes down what it was asked. */

const allowed: Decision = {
  allowed: true,
  wouldDeny: false,
  never: false,
  remaining: 9,
  limit: 10,
  retryAfter: 0,
  resetAfter: 2_500,
  delay: 0,
  policy: 'default',
  policies: [
    {
      name: 'default',
      kind: 'sliding-window',
      allowed: true,
      never: false,
      limit: 10,
      window: 60_000,
      remaining: 9,
      retryAfter: 0,
      resetAfter: 2_500,
    },
  ],
  source: 'store',
  cost: 1,
}

const refusedBy = (over: Partial<Decision> & { retryAfter: number | null }): Decision => ({
  ...allowed,
  allowed: false,
  remaining: 0,
  policies: allowed.policies.map((policy) => ({
    ...policy,
    allowed: false,
    remaining: 0,
    ...over,
    name: policy.name,
  })),
  ...over,
})

function scripted(answer: Decision | Error) {
  const asked: [string, object][] = []
  const refunded: string[] = []
  const limiter: RequestLimiter = {
    name: 'api',
    take: async (subject, options) => {
      asked.push([subject, options])
      if (answer instanceof Error) throw answer
      return answer
    },
    refund: async (subject) => {
      refunded.push(subject)
    },
  }
  return { limiter, asked, refunded }
}

const request: HttpRequest = {
  method: 'POST',
  url: '/orders',
  headers: new Headers({ 'x-user': 'ada' }),
  remoteAddress: '::ffff:203.0.113.9',
}

const decide = (answer: Decision | Error, options?: RateLimitOptions) =>
  rateLimit(scripted(answer).limiter, options)(request)

afterEach(() => vi.restoreAllMocks())

describe('a request', () => {
  test('is limited by the address of its socket, at a cost of 1', async () => {
    const { limiter, asked } = scripted(allowed)
    await rateLimit(limiter)(request)
    expect(asked).toEqual([['203.0.113.9', { cost: 1 }]])
  })

  test('is limited by key and cost of the caller, who may take time over them', async () => {
    const { limiter, asked } = scripted(allowed)
    await rateLimit(limiter, {
      key: async ({ headers }) => headers.get('x-user') ?? 'nobody',
      cost: async ({ method }) => (method === 'POST' ? 5 : 1),
    })(request)
    expect(asked).toEqual([['ada', { cost: 5 }]])
  })

  test('that is skipped asks for no key, and the limiter nothing', async () => {
    const { limiter, asked } = scripted(allowed)
    const key = vi.fn(() => 'x')
    const outcome = await rateLimit(limiter, { skip: async () => true, key })(request)
    expect(outcome).toMatchObject({ allowed: true, headers: [], decision: null, limiter: 'api' })
    expect([asked, key.mock.calls]).toEqual([[], []])
  })

  test('that is allowed gets headers', async () => {
    expect(await decide(allowed)).toEqual({
      finish: expect.any(Function) as () => void,
      allowed: true,
      headers: [
        ['RateLimit-Policy', '"default";q=10;w=60'],
        ['RateLimit', '"default";r=9;t=3'],
      ],
      decision: allowed,
      limiter: 'api',
    })
  })

  test('that is denied gets 429, Retry-After and a problem document', async () => {
    const outcome = await decide(refusedBy({ retryAfter: 1_001 }))
    if (outcome.allowed) throw new Error('allowed')
    expect(outcome.status).toBe(429)
    expect(Object.fromEntries(outcome.headers)).toEqual({
      'RateLimit-Policy': '"default";q=10;w=60',
      RateLimit: '"default";r=0;t=2',
      'Retry-After': '2',
      'Content-Type': 'application/problem+json',
    })
    expect(JSON.parse(outcome.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: expect.any(String) as string,
      status: 429,
      detail: 'The same request may pass after 2 s.',
      'violated-policies': ['default'],
    })
  })

  test('E6: that costs more than the capacity gets 429 without Retry-After', async () => {
    const outcome = await decide(refusedBy({ retryAfter: null, never: true }))
    if (outcome.allowed) throw new Error('allowed')
    expect([outcome.status, Object.fromEntries(outcome.headers)['Retry-After']]).toEqual([429, undefined])
    expect(JSON.parse(outcome.body)).toMatchObject({ 'violated-policies': ['default'] })
  })

  test('in shadow mode is never refused', async () => {
    const shadow = { ...refusedBy({ retryAfter: 5_000 }), allowed: true, wouldDeny: true }
    expect(await decide(shadow)).toMatchObject({ allowed: true, decision: { wouldDeny: true } })
  })
})

describe('the store of the limits is down', () => {
  test.each([
    new StoreUnavailableError('no answer from 10.0.0.5', 'unknown'),
    new StoreRefusedError('READONLY', { retryable: true, outcome: 'not-done', reason: 'READONLY' }),
  ])('E2: $name is 503 with Retry-After, never shaped like a denial', async (error) => {
    const outcome = await decide(error)
    if (outcome.allowed) throw new Error('allowed')
    expect(outcome).toMatchObject({ status: 503, decision: null })
    expect(Object.fromEntries(outcome.headers)).toEqual({
      'Retry-After': '1',
      'Content-Type': 'application/problem+json',
    })
    const body = JSON.parse(outcome.body) as Record<string, unknown>
    expect(body).toMatchObject({ status: 503, 'violated-policies': [] })
    expect(body.type).not.toMatch(/quota-exceeded/)
    expect(outcome.body).not.toContain('10.0.0.5')
  })

  test('the decision of the limiter is used as it is', async () => {
    const unavailable = { policies: [], source: 'unavailable' } as const
    expect(await decide({ ...allowed, ...unavailable })).toMatchObject({ allowed: true, headers: [] })
    const denied = await decide({ ...allowed, ...unavailable, allowed: false, retryAfter: 0 })
    expect(denied).toMatchObject({ allowed: false, status: 429 })
    expect(Object.fromEntries(denied.headers)).toMatchObject({ 'Retry-After': '1' })
  })
})

describe('an error', () => {
  test.each(['', undefined, null, 7, {}])('is a key of %j: nobody is unlimited by mistake', async (key) => {
    const { limiter, asked } = scripted(allowed)
    const outcome = rateLimit(limiter, { key: () => key as string })(request)
    await expect(outcome).rejects.toThrow(InvalidArgumentError)
    await expect(outcome).rejects.toThrow(/^key: .* skip/)
    expect(asked).toEqual([])
  })

  test('of key, cost, skip or of the limiter passes through as it is', async () => {
    const error = new Error('mine')
    const fail = () => {
      throw error
    }
    await expect(decide(allowed, { key: fail })).rejects.toBe(error)
    await expect(decide(allowed, { cost: fail })).rejects.toBe(error)
    await expect(decide(allowed, { skip: fail })).rejects.toBe(error)
    await expect(decide(error)).rejects.toBe(error)
    await expect(decide(new ClosedError())).rejects.toThrow(ClosedError)
  })

  test.each<[object, string]>([
    [{ keys: () => 'x' }, 'rateLimit.keys'],
    [{ key: 'x' }, 'key'],
    [{ cost: 0 }, 'cost'],
    [{ cost: 1.5 }, 'cost'],
    [{ cost: 2 ** 31 }, 'cost'],
    [{ cost: '1' }, 'cost'],
    [{ skip: true }, 'skip'],
    [{ legacyHeaders: 'seconds' }, 'legacyHeaders'],
    [{ legacyHeaders: null }, 'legacyHeaders'],
    [{ quotaUnit: '' }, 'quotaUnit'],
    [{ quotaUnit: 'a\r\nb' }, 'quotaUnit'],
    [{ partitionKey: 'x' }, 'partitionKey'],
    [{ maxDelay: 0 }, 'maxDelay'],
    [{ maxDelay: '2m' }, 'maxDelay'],
    [{ clock: {} }, 'clock'],
  ])('is the option %j, at once', (options, option) => {
    const make = () => rateLimit(scripted(allowed).limiter, options)
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', option }) as Error)
  })

  test('is a limiter that is none', () => {
    expect(() => rateLimit({} as RequestLimiter)).toThrow(/^limiter: /)
  })
})

describe('what is told', () => {
  const field = async (options: RateLimitOptions, name: string) =>
    Object.fromEntries((await decide(allowed, options)).headers)[name]

  test('of the partition is a hash of the key, or what a function gives', async () => {
    // printf ada | sha256sum | cut -c-32, its bytes in base64
    const hash = '/e5DDUC9V97qwYbNl5ADPQ=='
    const key = () => 'ada'
    expect(await field({ key, partitionKey: true }, 'RateLimit')).toBe(`"default";r=9;t=3;pk=:${hash}:`)
    expect(await field({ key, partitionKey: (of) => `u-${of}` }, 'RateLimit')).toBe(
      '"default";r=9;t=3;pk=:dS1hZGE=:',
    )
    expect(await field({ key, partitionKey: (of) => Promise.resolve(`u-${of}`) }, 'RateLimit')).toBe(
      await field({ key, partitionKey: (of) => `u-${of}` }, 'RateLimit'),
    )
    expect(await field({ key, partitionKey: (() => undefined) as never }, 'RateLimit')).toBe(
      '"default";r=9;t=3',
    )
    await expect(field({ key, partitionKey: (() => 42) as never }, 'RateLimit')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { option: 'partitionKey' },
    })
    expect(await field({ key, partitionKey: () => Uint8Array.of(1) }, 'RateLimit')).toBe(
      '"default";r=9;t=3;pk=:AQ==:',
    )
  })

  test('in the older headers is by option', async () => {
    const clock = new VirtualClock()
    const now = clock.wall()
    expect(await field({}, 'X-RateLimit-Reset')).toBeUndefined()
    expect(await field({ legacyHeaders: true }, 'X-RateLimit-Reset')).toBe('3')
    const epoch = await field({ legacyHeaders: 'epoch', clock }, 'X-RateLimit-Reset')
    expect(epoch).toBe(String(Math.ceil((now + 3_000) / 1_000)))
  })
})

describe('a slot', () => {
  const held = (answer: Decision) => {
    const release = vi.fn(() => Promise.reject(new Error('the store is down')))
    return { release, decision: { ...answer, slot: { release } as unknown as NonNullable<Decision['slot']> } }
  }

  test('is kept until the request is finished', async () => {
    const { release, decision } = held(allowed)
    const outcome = await decide(decision)
    expect(release).not.toHaveBeenCalled()
    if (outcome.allowed) outcome.finish()
    expect(release).toHaveBeenCalledOnce()
  })

  test('is given back where the request does not come to its handler', async () => {
    const failing = held(allowed)
    const partitionKey = () => {
      throw new Error('mine')
    }
    await expect(decide(failing.decision, { partitionKey })).rejects.toThrow('mine')
    expect(failing.release).toHaveBeenCalledOnce()
    const late = held({ ...allowed, delay: 5_000 })
    expect(await decide(late.decision, { maxDelay: 1 })).toMatchObject({ status: 429 })
    expect(late.release).toHaveBeenCalledOnce()
  })
})

describe('a leaky bucket', () => {
  const shaped: Decision = {
    ...allowed,
    delay: 400,
    policies: allowed.policies.map((policy) => ({ ...policy, kind: 'leaky-bucket' })),
  }

  test('only tells of its delay, by default', async () => {
    expect(await decide(shaped)).toMatchObject({ allowed: true, decision: { delay: 400 } })
  })

  test('makes the request wait for its turn with maxDelay', async () => {
    const clock = new VirtualClock()
    const { limiter } = scripted(shaped)
    let done = false
    const outcome = rateLimit(limiter, { maxDelay: 400, clock })(request).finally(() => (done = true))
    await clock.advance(399)
    expect(done).toBe(false)
    await clock.advance(1)
    expect(await outcome).toMatchObject({ allowed: true })
  })

  test('whose turn comes too late is a refusal, and is given back', async () => {
    const { limiter, refunded } = scripted({ ...shaped, delay: 2_500 })
    const outcome = await rateLimit(limiter, { maxDelay: 400, clock: new VirtualClock() })(request)
    expect(outcome).toMatchObject({ allowed: false, status: 429 })
    expect(Object.fromEntries(outcome.headers)).toMatchObject({
      RateLimit: '"default";r=9;t=3',
      'Retry-After': '3',
    })
    expect(refunded).toEqual(['203.0.113.9'])
  })

  test('is a refusal too where it cannot be given back', async () => {
    const { limiter } = scripted({ ...shaped, delay: 2_500 })
    const broken: RequestLimiter = { ...limiter, refund: () => Promise.reject(new Error('down')) }
    const { refund: _refund, ...without } = limiter
    for (const each of [broken, without])
      expect(await rateLimit(each, { maxDelay: 400 })(request)).toMatchObject({ allowed: false, status: 429 })
  })
})

test('what is no limiter is refused, with what to give', () => {
  expect(() => rateLimit(undefined as unknown as RequestLimiter)).toThrow(
    'limiter: undefined lacks some of its methods. Give what hf.limiter(…) makes.',
  )
})
