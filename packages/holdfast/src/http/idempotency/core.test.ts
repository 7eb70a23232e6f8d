import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../../errors.ts'
import type { IdempotencyOptions } from '../../idempotency/options.ts'
import { fixedWindow } from '../../index.ts'
import { OnceBench } from '../../testing/once-bench.ts'
import { idempotent, type FetchHandler, type IdempotentOptions } from '../index.ts'

/**
 * Goal: what becomes of a request, in words of HTTP, whatever becomes of its key.
 * Method: the core over a store in memory under a virtual clock, with trouble between the two.
 */

let bench: OnceBench
beforeEach(() => {
  bench = new OnceBench()
})
afterEach(() => bench.close())

const LEASE = 3_000

function server(options: Partial<IdempotentOptions<Request>> = {}, own: IdempotencyOptions = {}) {
  const { clock } = bench
  return idempotent<Request>(bench.hf.idempotency('orders', { lease: LEASE, ...own }), {
    scope: 'global',
    clock,
    ...options,
  })
}

function request(body = '{}', { key = 'k', type = 'application/json', path = '/orders' } = {}): Request {
  const headers = { 'idempotency-key': key, 'content-type': type }
  return new Request(`http://shop.example${path}`, { method: 'POST', headers, body })
}

const created: FetchHandler = () => new Response('made', { status: 201, headers: { location: '/orders/1' } })
const never: FetchHandler = () => {
  throw new Error('it must not run')
}

/** Lets an answer come under the virtual clock. */
async function after<T>(ms: number, promise: Promise<T>): Promise<T> {
  const caught = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await bench.clock.advance(ms)
  const settled = await caught
  if ('error' in settled) throw settled.error
  return settled.value
}

async function problemOf(response: Response): Promise<unknown> {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  return ((await response.json()) as { type: string }).type
}

describe('a request', () => {
  test('F13: is carried out once, and its answer replayed', async () => {
    const once = server()
    expect((await once(request(), created)).status).toBe(201)
    const again = await once(request(), never)
    expect([again.status, await again.text(), again.headers.get('location')]).toEqual([
      201,
      'made',
      '/orders/1',
    ])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  test('is given its run', async () => {
    let attempt: number | undefined
    await server()(request(), (run) => {
      attempt = run?.attempt
      return new Response()
    })
    expect(attempt).toBe(1)
  })

  test('F11: JSON is compared by its value, the host and the fragment do not count', async () => {
    const once = server()
    await once(request('{"a":1,"b":2}'), created)
    expect((await once(request('{ "b": 2.0, "a": 1 }'), never)).status).toBe(201)
    expect((await once(request('{"a":1,"b":3}'), never)).status).toBe(422)
    expect((await once(request('{"a":1', { key: 'broken' }), created)).status).toBe(201)
    expect((await once(request('{"a":1 ', { key: 'broken' }), never)).status).toBe(422)
  })

  test('what the handler throws comes out, and frees the key', async () => {
    const once = server()
    const failing = () => Promise.reject(new Error('a fault of the handler'))
    await expect(once(request(), failing)).rejects.toThrow('a fault of the handler')
    expect((await once(request(), created)).status).toBe(201)
  })

  test('an isFinal that throws does not let it run again', async () => {
    const fault = () => {
      throw new Error('a fault of isFinal')
    }
    const once = server({ isFinal: fault })
    expect((await once(request(), created)).status).toBe(201)
    expect((await once(request(), never)).status).toBe(409)
  })

  test('a key that was settled by hand is replayed', async () => {
    const orders = bench.hf.idempotency('orders', { lease: LEASE })
    const once = server()
    const hung = once(request(), () => new Promise<Response>(() => undefined))
    hung.catch(() => undefined)
    await bench.clock.settle()
    bench.trouble('unsent')
    await bench.clock.advance(LEASE + 100)
    bench.heal()
    const ask = { key: 'POST /orders k', scope: 'global' }
    expect(await orders.settle(ask, { value: { status: 200, headers: [], body: 'by hand' } })).toEqual({
      settled: true,
    })
    const other = idempotent<Request>(bench.other.idempotency('orders'), { scope: 'global' })
    expect(await (await other(request(), never)).text()).toBe('by hand')
  })
})

describe('the store', () => {
  test.each(['unsent', 'swallowed', 'unanswered', 'READONLY', 'LOADING'] as const)(
    'F16: down (%s): 503 with Retry-After within the budget, and no handler runs',
    async (trouble) => {
      const once = server()
      bench.trouble(trouble)
      const response = await after(1_200, once(request(), never))
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await problemOf(response)).toBe('urn:holdfast:problem:unavailable')
    },
  )

  test('F16: down, and the caller chose to run unprotected: the handler runs', async () => {
    const once = server({}, { onStoreError: 'run' })
    bench.trouble('unsent')
    expect((await after(1_200, once(request(), created))).status).toBe(201)
  })

  test('fails when the answer is to be stored: the client gets it all the same, within the budget', async () => {
    const once = server()
    bench.trouble('swallowed', 'complete')
    const response = await after(1_200, once(request(), created))
    expect([response.status, await response.text()]).toEqual([201, 'made'])
  })

  test('F7: has given the key to another: the client gets what its own request came to', async () => {
    const once = server({}, { onAbandoned: 'retry' })
    let end!: (response: Response) => void
    const first = once(request(), () => new Promise<Response>((resolve) => (end = resolve)))
    await bench.clock.settle()
    bench.trouble('unsent')
    await bench.clock.advance(LEASE + 100)
    const orders = bench.other.idempotency('orders', { lease: LEASE, onAbandoned: 'retry' })
    const other = idempotent<Request>(orders, { scope: 'global', clock: bench.clock })
    expect((await other(request(), () => new Response('second'))).status).toBe(200)
    bench.heal()
    end(new Response('first', { status: 201 }))
    expect(await (await after(1_000, first)).text()).toBe('first')
    expect(await (await other(request(), never)).text()).toBe('second')
    expect(bench.told.map(({ outcome }) => outcome)).toContain('unknown')
  })
})

describe('a payload', () => {
  test('F12: of which fingerprint gives nothing is an error, and no payload passes for another', async () => {
    const once = server({ fingerprint: () => undefined })
    await expect(once(request(), never)).rejects.toThrow(/fingerprint.*nothing could be compared/)
    expect(await (await server({ fingerprint: false })(request(), created)).text()).toBe('made')
  })

  test.each(['[1e400]', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, '{"a":[{"b":-1e999}]}'])(
    'F11: that JSON text can say and no fingerprint can (%#) is the client’s fault: 400',
    async (body) => {
      const answer = await server()(request(body), never)
      expect(answer.status).toBe(400)
      expect(await problemOf(answer)).toBe('urn:holdfast:problem:body-not-comparable')
    },
  )

  test('that is no payload by the fault of the server stays an error, with a message that can be read', async () => {
    const deep: unknown[] = []
    let inner = deep
    for (let n = 0; n < 1_000; n += 1) inner.push((inner = []))
    const once = server({ fingerprint: () => ({ deep }) })
    const error = await once(request(), never).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect((error as Error).message.length).toBeLessThan(600)
  })
})

describe('isFinal that does not answer at once', () => {
  test('is refused at start-up where it is async', () => {
    expect(() => server({ isFinal: (async () => true) as never })).toThrow(/isFinal.*async/)
  })

  test.each([() => Promise.resolve(false), () => Promise.reject(new Error('no')), () => undefined, () => 1])(
    'F8: an answer of which it says no boolean (%s) is not kept, and the handler does not run again',
    async (said) => {
      const once = server({ isFinal: said as never })
      expect((await once(request(), created)).status).toBe(201)
      const again = await once(request(), never)
      expect([again.status, await problemOf(again)]).toEqual([409, 'urn:holdfast:problem:outcome-unknown'])
    },
  )
})

describe('a request of another server', () => {
  test('may have plain headers, in any case', async () => {
    const once = idempotent(bench.hf.idempotency('plain'), { scope: 'global', clock: bench.clock })
    const asked = { method: 'POST', url: '/orders', headers: { 'Idempotency-Key': 'k' }, body: { a: 1 } }
    expect((await once(asked, created)).status).toBe(201)
    expect((await once(asked, never)).headers.get('idempotent-replayed')).toBe('true')
    expect((await once({ ...asked, headers: {} }, never)).status).toBe(400)
    const twice = { ...asked, headers: { 'idempotency-key': ['a', 'b'] } }
    expect((await once(twice, never)).status).toBe(400)
  })
})

test('a body that was read before, and a handler that gives no Response, are told', async () => {
  const read = request()
  await read.text()
  await expect(server()(read, never)).rejects.toThrow(/was read before/)
  const once = server()
  await expect(once(request(), () => undefined as never)).rejects.toThrow(/gave no Response/)
  expect((await once(request(), created)).status).toBe(201)
})

test('a limiter is no idempotency', () => {
  const limiter = bench.hf.limiter('l', fixedWindow({ limit: 1, per: '1m' }))
  expect(() => idempotent(limiter as never, { scope: 'global' })).toThrow(InvalidArgumentError)
})

describe('a handler that does not answer', () => {
  test('F2: is given up after maxRun; its key is abandoned when the lease is over, and its late answer is its own', async () => {
    const once = server({ maxRun: '10s' })
    let end!: (response: Response) => void
    let aborted: unknown
    const first = once(request(), (run) => {
      run?.signal.addEventListener('abort', () => {
        aborted = run.signal.reason as unknown
      })
      return new Promise<Response>((resolve) => (end = resolve))
    })
    await bench.clock.advance(9_900)
    expect((await once(request(), never)).headers.get('retry-after')).toBe('1')
    expect(aborted).toBeUndefined()
    await bench.clock.advance(LEASE + 200)
    expect(aborted).toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'abandoned' })
    const told = await once(request(), never)
    expect([told.status, told.headers.get('retry-after')]).toEqual([409, null])
    expect(await problemOf(told)).toBe('urn:holdfast:problem:outcome-unknown')
    end(new Response('late'))
    expect(await (await first).text()).toBe('late')
    expect((await once(request(), never)).status).toBe(409)
  })

  test('has all the time of its lease’s renewals until then', async () => {
    const once = server()
    const first = once(request(), async () => {
      await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 10 * LEASE))
      return new Response('slow')
    })
    expect((await after(11 * LEASE, first)).status).toBe(200)
    expect(await (await once(request(), never)).text()).toBe('slow')
  })
})

describe('options', () => {
  const orders = () => bench.hf.idempotency('orders')

  test('F10: a scope that was forgotten is told at start-up', () => {
    for (const options of [undefined, {}, { required: false }]) {
      const make = () => idempotent(orders(), options as unknown as IdempotentOptions)
      expect(make).toThrow(InvalidArgumentError)
      expect(make).toThrow(/^scope: .*is missing.*'global'/)
    }
  })

  test.each<[object, string]>([
    [{ scope: 'user-1' }, 'scope'],
    [{ scope: null }, 'scope'],
    [{ required: 'yes' }, 'required'],
    [{ methods: 'POST' }, 'methods'],
    [{ methods: [] }, 'methods'],
    [{ methods: ['post'] }, 'methods'],
    [{ fingerprint: true }, 'fingerprint'],
    [{ isFinal: [200] }, 'isFinal'],
    [{ replayHeaders: 'etag' }, 'replayHeaders'],
    [{ replayHeaders: ['Connection'] }, 'replayHeaders'],
    [{ replayHeaders: ['Transfer-Encoding'] }, 'replayHeaders'],
    [{ replayHeaders: ['Date'] }, 'replayHeaders'],
    [{ replayHeaders: ['RateLimit-Policy'] }, 'replayHeaders'],
    [{ replayHeaders: ['a b'] }, 'replayHeaders'],
    [{ wait: -1 }, 'wait'],
    [{ maxRun: 0 }, 'maxRun'],
    [{ afterDisconnect: 'soon' }, 'afterDisconnect'],
    [{ required: null }, 'required'],
    [{ methods: null }, 'methods'],
    [{ replayHeaders: null }, 'replayHeaders'],
    [{ wait: null }, 'wait'],
    [{ maxRun: null }, 'maxRun'],
    [{ afterDisconnect: null }, 'afterDisconnect'],
    [{ headers: ['etag'] }, 'idempotent.headers'],
  ])('%j is refused, naming the option', (options, option) => {
    const make = () => idempotent(orders(), { scope: 'global', ...options })
    expect(make).toThrow(InvalidArgumentError)
    expect(make).toThrow(expect.objectContaining({ option }) as Error)
  })

  test('what is no idempotency is refused', () => {
    expect(() => idempotent({} as never, { scope: 'global' })).toThrow(/^idempotency: /)
  })
})
