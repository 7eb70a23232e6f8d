import { StoreRefusedError, StoreUnavailableError } from 'holdfast'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { waitFor } from '../../src/index.ts'
import { shells, type App, type Common } from './support/apps.ts'
import { ask, askAndLeave, askHttp2 } from './support/ask.ts'
import {
  allowed,
  ALLOWED_FIELDS,
  denied,
  DENIED_FIELDS,
  ScriptedLimiter,
  withSlot,
  type Decision,
} from './support/scripted-limiter.ts'

/**
 * Goal: every shell does the same with the same decision.
 * Method: one suite over real servers on loopback, with a limiter that answers as told.
 */

const opened: App[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const app of opened.splice(0)) await app.close()
})

describe.each(Object.entries(shells))('%s', (_name, shell) => {
  const asking = shell.version === 1 ? ask : askHttp2

  async function open(answer: Decision | Error, common: Common = {}, slow?: Promise<void>) {
    const limiter = new ScriptedLimiter(answer)
    return { ...(await openWith([limiter], common, slow)), limiter }
  }

  async function openWith(limiters: ScriptedLimiter[], common: Common = {}, slow?: Promise<void>) {
    const handled: (number | undefined)[] = []
    const handlers = { onHandled: (remaining: number | undefined) => handled.push(remaining) }
    const app = await shell.start(limiters, common, { ...handlers, ...(slow && { slow }) })
    opened.push(app)
    return { app, handled }
  }

  test('an allowed request has its headers, and its handler sees the decision', async () => {
    const { app, handled, limiter } = await open(allowed)
    const reply = await asking(app.url, { path: '/orders?page=2' })
    expect(reply).toMatchObject({ status: 200, body: 'hello', headers: ALLOWED_FIELDS })
    expect(reply.headers).not.toHaveProperty('retry-after')
    expect(handled).toEqual([9])
    expect(limiter.subjects).toEqual(['127.0.0.1'])
  })

  test('a denied request is answered with 429, and no handler runs', async () => {
    const { app, handled } = await open(denied)
    const reply = await asking(app.url)
    expect(reply).toMatchObject({ status: 429, headers: { ...DENIED_FIELDS, 'retry-after': '2' } })
    expect(reply.headers['content-type']).toMatch(/^application\/problem\+json(;|$)/)
    expect(JSON.parse(reply.body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      'violated-policies': ['default'],
    })
    expect(handled).toEqual([])
  })

  test('a denied request with a body is answered before its body is read', async () => {
    const { app, handled } = await open(denied)
    const post = { method: 'POST', headers: { 'content-type': 'application/json' } }
    expect(await asking(app.url, post)).toMatchObject({ status: 429 })
    expect(await asking(app.url, { method: 'HEAD' })).toMatchObject({ status: 429, body: '' })
    expect(handled).toEqual([])
  })

  test.each([
    new StoreUnavailableError('no answer from db.internal', 'unknown'),
    new StoreRefusedError('LOADING', { retryable: true, outcome: 'not-done', reason: 'LOADING' }),
  ])('E2: the store is down ($name): 503 with Retry-After, and no handler runs', async (error) => {
    const { app, handled } = await open(error)
    const reply = await asking(app.url)
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(reply.headers['content-type']).toMatch(/^application\/problem\+json(;|$)/)
    expect(JSON.parse(reply.body)).toMatchObject({ status: 503, 'violated-policies': [] })
    expect(reply.body).not.toMatch(/quota-exceeded|db\.internal/)
    expect(handled).toEqual([])
  })

  test('any other error goes to the framework, and no handler runs', async () => {
    const { app, handled } = await open(allowed, { key: () => '' })
    expect(await asking(app.url)).toMatchObject({ status: 500 })
    expect(handled).toEqual([])
  })

  test('a skipped request is not limited', async () => {
    const { app, limiter } = await open(denied, { skip: () => true })
    expect((await asking(app.url)).status).toBe(200)
    expect(limiter.subjects).toEqual([])
  })

  test('two limiters tell of both', async () => {
    const other = {
      ...allowed,
      policies: allowed.policies.map((policy) => ({ ...policy, name: 'other', limit: 3, remaining: 2 })),
    }
    const { app } = await openWith([new ScriptedLimiter(allowed, 'a'), new ScriptedLimiter(other, 'b')])
    const { ratelimit, 'ratelimit-policy': policies } = (await asking(app.url)).headers
    const inOrder = (field: unknown) => String(field).split(', ').sort()
    expect(inOrder(ratelimit)).toEqual(['"default";r=9;t=3', '"other";r=2;t=3'])
    expect(inOrder(policies)).toEqual(['"default";q=10;w=60', '"other";q=3;w=60'])
  })

  test('E26: a refusal behind another limiter speaks of the limiter that refused alone', async () => {
    const longer = {
      ...allowed,
      policies: allowed.policies.map((policy) => ({ ...policy, resetAfter: 86_400_000 })),
    }
    const { app, handled } = await openWith([
      new ScriptedLimiter(longer, 'a'),
      new ScriptedLimiter(denied, 'b'),
    ])
    expect(await asking(app.url)).toMatchObject({
      status: 429,
      headers: { ...DENIED_FIELDS, 'retry-after': '2' },
    })
    expect(handled).toEqual([])
  })

  test('E27: the address that the nearest proxy wrote counts, not what the client wrote before it', async () => {
    const { app, limiter } = await open(allowed, { trustedHops: 1 })
    await asking(app.url, { headers: { 'X-Forwarded-For': '6.6.6.6, 1.2.3.4' } })
    await asking(app.url, { headers: { 'x-forwarded-for': ['6.6.6.6', '::ffff:102:304'] } })
    await asking(app.url, { headers: { 'x-forwarded-for': '[2001:db8::1]:80' } })
    expect(limiter.subjects).toEqual(['1.2.3.4', '1.2.3.4', '2001:db8::/64'])
  })

  test('E27: hostile headers make no error, and no new key, and are told once', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
    const { app, limiter } = await open(allowed, { trustedHops: 1 })
    const hostile = [
      'unknown',
      '%',
      '[',
      '"',
      '{}|*',
      'fe80::1%',
      '9'.repeat(4_000),
      ',,,',
      '\u00ff\u00fe',
      '::1::',
    ]
    for (const value of hostile) {
      const reply = await asking(app.url, { headers: { 'x-forwarded-for': value, ratelimit: '"x";r=1' } })
      expect(reply).toMatchObject({ status: 200, headers: ALLOWED_FIELDS })
    }
    expect(new Set(limiter.subjects)).toEqual(new Set(['127.0.0.1']))
    expect(warn).toHaveBeenCalledOnce()
  })

  test('a request waits for its turn in a leaky bucket', async () => {
    const { app } = await open({ ...allowed, delay: 60 }, { maxDelay: 1_000 })
    const began = performance.now()
    expect((await asking(app.url)).status).toBe(200)
    // Timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThanOrEqual(59)
  })

  test('a slot is held until the response is sent', async () => {
    const { decision, released } = withSlot()
    let go = (): void => undefined
    const slow = new Promise<void>((resolve) => (go = resolve))
    const { app, handled } = await open(decision, {}, slow)
    const reply = asking(app.url, { path: '/slow' })
    await waitFor(() => handled.length === 1, { what: 'the handler' })
    expect(released()).toBe(false)
    go()
    expect((await reply).status).toBe(200)
    await waitFor(released, { what: 'the slot to be given back' })
  })

  test('a slot is given back when the client goes away', async () => {
    const { decision, released } = withSlot()
    let go = (): void => undefined
    const slow = new Promise<void>((resolve) => (go = resolve))
    const { app, handled } = await open(decision, {}, slow)
    const leave = askAndLeave(app.url, '/slow', shell.version)
    await waitFor(() => handled.length === 1, { what: 'the handler' })
    leave()
    go()
    await waitFor(released, { what: 'the slot to be given back' })
  })

  test('a client that goes away while it is decided does no harm', async () => {
    const { decision, released } = withSlot()
    const { app, limiter } = await open(decision)
    let decide = (): void => undefined
    const decided = new Promise<void>((resolve) => (decide = resolve))
    const take = limiter.take.bind(limiter)
    limiter.take = async (subject) => {
      const answer = await take(subject)
      await decided
      return answer
    }
    const leave = askAndLeave(app.url, '/', shell.version)
    await waitFor(() => limiter.subjects.length === 1, { what: 'the question' })
    leave()
    await new Promise((resolve) => setTimeout(resolve, 30))
    decide()
    await waitFor(released, { what: 'the slot to be given back' })
    limiter.take = take
    expect((await asking(app.url)).status).toBe(200)
  })
})
