import { createHoldfast, type Holdfast, type IdempotencyOptions } from 'holdfast'
import type { RequestIdempotency } from 'holdfast/http'
import { memoryStore } from 'holdfast/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../src/index.ts'
import { onceShells, type OnceApp, type OnceCommon } from './support/once-apps.ts'
import { HUGE, MAX_BYTES } from './support/once-ways.ts'
import { post, postAndLeave, postAndWatch, postHttp2, type Posted } from './support/post.ts'

/**
 * Goal: whatever framework and whatever means of answering, a request takes effect once, and its repeats get the same answer.
 * Method: one suite over real servers on loopback; the store is in memory.
 */

const apps: OnceApp[] = []
let hf: Holdfast
let ran: string[]
let proceed: () => void
let slow: Promise<void>

beforeEach(() => {
  hf = createHoldfast({ store: memoryStore() })
  ran = []
  slow = new Promise((resolve) => (proceed = resolve))
})
afterEach(async () => {
  proceed()
  for (const app of apps.splice(0)) await app.close()
  await hf.close()
})

describe.each(Object.entries(onceShells))('%s', (name, shell) => {
  const send = shell.version === 1 ? post : postHttp2

  async function open(common: OnceCommon = {}, options: IdempotencyOptions = {}) {
    const orders = hf.idempotency('orders', { maxBytes: MAX_BYTES, ...options })
    const handlers = { ran: (path: string) => ran.push(path), slow: () => slow }
    const app = await shell.start(orders, common, handlers)
    apps.push(app)
    return { url: app.url, orders, app }
  }

  const order = (path: string, key = '"k-1"', rest: Partial<Posted> = {}): Posted => ({
    path,
    body: '{"item":1}',
    ...rest,
    headers: { 'content-type': 'application/json', 'idempotency-key': key, ...rest.headers },
  })

  test.each(shell.ways)(
    'F1, F2, F13: an answer by %s is replayed: status, bytes, and allowed fields',
    async (way) => {
      const { url } = await open()
      const first = await send(url, order(way))
      const again = await send(url, order(way))
      expect(ran).toEqual([way])
      expect(first.status).toBeLessThan(400)
      expect(again.status).toBe(first.status)
      expect(again.body.equals(first.body)).toBe(true)
      expect(first.headers).not.toHaveProperty('idempotent-replayed')
      expect(again.headers).toHaveProperty('idempotent-replayed', 'true')
      for (const name of ['location', 'etag', 'content-language', 'content-type', 'link'])
        expect([name, again.headers[name]]).toEqual([name, first.headers[name]])
      expect(first.headers).toMatchObject({ 'x-internal': 'no', 'x-ratelimit-remaining': '3' })
      for (const name of ['set-cookie', 'x-internal', 'x-ratelimit-remaining'])
        expect(again.headers).not.toHaveProperty(name)
    },
  )

  test('F9: fifty at once: one runs, the others are told to come back, and then replayed', async () => {
    const { url } = await open()
    const first = send(url, order('/slow'))
    await waitFor(() => ran.length === 1, { what: 'the handler' })
    const others = await Promise.all(Array.from({ length: 49 }, () => send(url, order('/slow'))))
    for (const { status, headers, body } of others) {
      expect([status, headers['retry-after']]).toEqual([409, '1'])
      expect(headers['content-type']).toMatch(/^application\/problem\+json(;|$)/)
      expect(JSON.parse(body.toString())).toMatchObject({
        type: 'urn:holdfast:problem:in-progress',
        status: 409,
      })
    }
    proceed()
    expect((await first).status).toBe(200)
    expect((await send(url, order('/slow'))).headers).toHaveProperty('idempotent-replayed', 'true')
    expect(ran).toEqual(['/slow'])
  })

  test('with wait, a repeat gets the answer of the first when that is there', async () => {
    const { url } = await open({ wait: '30s' })
    const all = Array.from({ length: 5 }, () => send(url, order('/slow')))
    await waitFor(() => ran.length === 1, { what: 'the handler' })
    proceed()
    const answers = await Promise.all(all)
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(4)
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.toString()}`)).size).toBe(1)
    expect(ran).toEqual(['/slow'])
  })

  test('F12: another payload is refused with 422, while the first is in flight and after', async () => {
    const { url } = await open({ wait: '30s' })
    const first = send(url, order('/slow'))
    await waitFor(() => ran.length === 1, { what: 'the handler' })
    const other = order('/slow', '"k-1"', { body: '{"item":2}' })
    const refused = await send(url, other)
    expect(refused.status).toBe(422)
    expect(JSON.parse(refused.body.toString())).toMatchObject({
      type: 'urn:holdfast:problem:idempotency-key-reused',
      status: 422,
    })
    proceed()
    await first
    expect((await send(url, other)).status).toBe(422)
    expect(ran).toEqual(['/slow'])
  })

  test('F11: members in any order and numbers in any spelling are one payload; another query is another', async () => {
    const { url } = await open()
    await send(url, order('/end', 'k', { body: '{"a":1,"b":[2]}' }))
    expect((await send(url, order('/end', 'k', { body: '{"b":[2.0], "a":1.0}' }))).status).toBeLessThan(300)
    expect((await send(url, order('/end?page=2', 'k', { body: '{"a":1,"b":[2]}' }))).status).toBe(422)
    expect(ran).toEqual(['/end'])
  })

  test('a body that is no JSON is compared by its bytes', async () => {
    const { url } = await open()
    const bytes = (body: Buffer) =>
      order('/end', 'k', { body, headers: { 'content-type': 'application/octet-stream' } })
    expect((await send(url, bytes(Buffer.from([1, 2, 255])))).status).toBeLessThan(300)
    expect((await send(url, bytes(Buffer.from([1, 2, 255])))).headers).toHaveProperty('idempotent-replayed')
    expect((await send(url, bytes(Buffer.from([1, 2, 254])))).status).toBe(422)
  })

  test('F10: the same key of another user, at another route, or of another method is another', async () => {
    const { url } = await open({ methods: ['POST', 'PUT'] })
    await send(url, order('/end'))
    for (const other of [
      order('/end', '"k-1"', { headers: { 'x-user': 'grace' } }),
      order('/binary'),
      order('/end', '"k-1"', { method: 'PUT' }),
    ])
      expect((await send(url, other)).headers).not.toHaveProperty('idempotent-replayed')
    expect(ran).toEqual(['/end', '/end', '/binary', '/end'])
  })

  test('F15: "k" and k are one key', async () => {
    const { url } = await open()
    await send(url, order('/end', '"k-2"'))
    expect((await send(url, order('/end', 'k-2'))).headers).toHaveProperty('idempotent-replayed', 'true')
    expect(ran).toHaveLength(1)
  })

  test.each([
    ['two lines', ['a', 'b']],
    ['two equal lines', ['a', 'a']],
    ['two lines that look like one string', ['"a', 'b"']],
    ['not ASCII', 'kö'],
    ['300 characters', 'k'.repeat(300)],
    ['300 characters in quotes', `"${'k'.repeat(300)}"`],
    ['empty', '""'],
    ['an open quotation', '"k'],
    ['words', 'k one'],
  ])('F15: %s: 400, and no handler runs', async (_what, key) => {
    const { url } = await open()
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const { status, body } = await send(url, { path: '/end', body: '{}', headers })
    expect(status).toBe(400)
    expect(JSON.parse(body.toString())).toMatchObject({
      type: 'urn:holdfast:problem:idempotency-key-malformed',
    })
    expect(ran).toEqual([])
  })

  test('no key: 400, or, where none is required, the handler runs each time', async () => {
    const { url } = await open()
    expect((await send(url, { path: '/end' })).status).toBe(400)
    expect(ran).toEqual([])
    const lenient = await open({ required: false })
    for (let n = 0; n < 2; n += 1)
      expect((await send(lenient.url, { path: '/end' })).status).toBeLessThan(300)
    expect(ran).toHaveLength(2)
  })

  test('other methods are not looked at', async () => {
    const { url } = await open()
    for (let n = 0; n < 2; n += 1)
      expect((await send(url, order('/end', 'k', { method: 'PUT' }))).headers).not.toHaveProperty(
        'idempotent-replayed',
      )
    expect(ran).toHaveLength(2)
  })

  test.each([500, 503, 429, 401, 409])('F8: %i is not stored, and frees the key', async (status) => {
    const { url } = await open()
    for (let n = 0; n < 2; n += 1) {
      const answer = await send(url, order(`/status/${status}`))
      expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([status, undefined])
    }
    expect(ran).toHaveLength(2)
  })

  test('F8: declared final it is stored; 402, 404 and 422 are without that', async () => {
    const { url } = await open({ isFinal: ({ status }) => status === 503 })
    const usual = await open()
    for (const [at, status] of [
      [url, 503],
      [usual.url, 402],
      [usual.url, 404],
      [usual.url, 422],
    ] as const) {
      ran = []
      await send(at, order(`/status/${status}`))
      const again = await send(at, order(`/status/${status}`))
      expect([again.status, again.headers['idempotent-replayed'], ran.length]).toEqual([status, 'true', 1])
    }
  })

  test.each(shell.failures)('F8: a handler that fails (%s) frees the key', async (path) => {
    const { url, orders } = await open()
    for (let n = 0; n < 2; n += 1) expect((await send(url, order(path))).status).toBe(500)
    expect(await orders.inspect({ key: `POST ${path} k-1`, scope: 'ada' })).toBeNull()
  })

  test.each(['/huge', '/huge-stream'])(
    'F14: an answer that is too large to store (%s) is told, not cut',
    async (path) => {
      const { url } = await open()
      expect((await send(url, order(path))).body.equals(HUGE)).toBe(true)
      const again = await send(url, order(path))
      expect([again.status, again.headers['retry-after']]).toEqual([409, undefined])
      expect(JSON.parse(again.body.toString())).toMatchObject({
        type: 'urn:holdfast:problem:outcome-unknown',
      })
      expect(ran).toEqual([path])
    },
  )

  test('F2: a stream of events is passed on, and its repeat told at once that it is not replayed', async () => {
    const { url } = await open()
    const { began, leave } = postAndLeave(url, order('/events'), shell.version)
    await began
    const again = await waitFor(
      async () => {
        const answer = await send(url, order('/events'))
        return answer.headers['retry-after'] === undefined && answer
      },
      { what: 'the repeat to be told' },
    )
    expect(JSON.parse(again.body.toString())).toMatchObject({ type: 'urn:holdfast:problem:outcome-unknown' })
    leave()
    expect(ran).toEqual(['/events'])
  })

  /** A server whose outcomes are stored, and whose store answers no sooner than it is told to. */
  async function openSlow(common: OnceCommon = {}) {
    const orders = hf.idempotency('orders')
    let answer!: () => void
    const answering = new Promise<void>((resolve) => (answer = resolve))
    const slowly: RequestIdempotency = {
      name: orders.name,
      maxBytes: orders.maxBytes,
      run: async (ask, options, work) => {
        const outcome = await orders.run(ask, options, work)
        await answering
        return outcome
      },
    }
    const handlers = { ran: (way: string) => ran.push(way), slow: () => slow }
    const app = await shell.start(slowly, common, handlers)
    apps.push(app)
    const stored = async (path: string, method = 'POST') => {
      const key = { key: `${method} ${path} k-1`, scope: 'ada' }
      await waitFor(async () => (await orders.inspect(key))?.state === 'done', {
        what: 'the outcome to be stored',
      })
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    return { url: app.url, answer, stored }
  }

  test.each(['/end', '/write', '/binary', ...shell.ways.filter((way) => /sized|send-file/.test(way))])(
    'the end of an answer (%s) waits until it is stored, and its last byte where the length is told',
    async (path) => {
      const { url, answer, stored } = await openSlow()
      const watched = postAndWatch(url, order(path), shell.version)
      let ended = false
      void watched.ended.then(() => (ended = true))
      await stored(path)
      expect(ended).toBe(false)
      const { bytes } = watched
      answer()
      await watched.ended
      expect(watched.status).toBeLessThan(300)
      if (/sized/.test(path)) expect([bytes, watched.bytes]).toEqual([12, 13])
      else if (path === '/send-file' && name.startsWith('Express')) expect(bytes).toBe(watched.bytes - 1)
    },
  )

  test('the head of an answer to HEAD waits until it is stored, even if it is flushed', async () => {
    const { url, answer, stored } = await openSlow({ methods: ['HEAD'] })
    const head = order('/flushed', '"k-1"', { method: 'HEAD' })
    const { body: _none, ...rest } = head
    const watched = postAndWatch(url, rest, shell.version)
    await stored('/flushed', 'HEAD')
    expect(watched.status).toBe(0)
    answer()
    await watched.ended
    expect(watched.status).toBe(200)
    expect((await send(url, rest)).headers).toHaveProperty('idempotent-replayed', 'true')
  })

  test('an answer with fewer bytes than its head promised is not replayed as if it were whole', async () => {
    const { url } = await open()
    const { began, leave } = postAndLeave(url, order('/short'), shell.version)
    await began
    const told = await waitFor(
      async () => {
        const answer = await send(url, order('/short'))
        return answer.headers['retry-after'] === undefined && answer
      },
      { what: 'the repeat to be told' },
    )
    leave()
    expect(told.status).toBe(409)
    expect(JSON.parse(told.body.toString())).toMatchObject({ type: 'urn:holdfast:problem:outcome-unknown' })
    expect(ran).toEqual(['/short'])
  })

  test('F2: what is written is sent at once; only the end waits for the store', async () => {
    const { url } = await open()
    const { began, leave } = postAndLeave(url, order('/slow-stream'), shell.version)
    await began
    expect((await send(url, order('/slow-stream'))).status).toBe(409)
    leave()
  })

  test('a client that leaves does not stop its handler, and finds the answer when it comes back', async () => {
    const { url } = await open({ wait: '30s' })
    const paths = ['/slow', '/slow-stream', '/slow-pipe', '/slow-pipeline']
    for (const path of paths) {
      const { leave, began } = postAndLeave(url, order(path), shell.version)
      await (path === '/slow' ? waitFor(() => ran.length > 0, { what: 'the handler' }) : began)
      leave()
    }
    // The server notices it meanwhile; where it does not, less is proved.
    await new Promise((resolve) => setTimeout(resolve, 50))
    const again = paths.map((path) => send(url, order(path)))
    proceed()
    for (const answer of await Promise.all(again)) {
      expect(answer.headers).toHaveProperty('idempotent-replayed', 'true')
      expect(answer.body.toString()).toMatch(/slow|hello|one two/)
    }
    expect(ran).toEqual(paths)
  })

  test.each(shell.ways)('F2: an answer by %s to a client that has gone is kept whole', async (way) => {
    const { url, app } = await open({ wait: '30s' })
    const usual = await send(url, order(way, 'k-0'))
    const { leave } = postAndLeave(url, order(`${way}?later`), shell.version)
    await waitFor(() => ran.length === 2, { what: 'the handler' })
    leave()
    await waitFor(async () => (await app.connections()) === 0, { what: 'the server to notice' })
    proceed()
    const again = await send(url, order(`${way}?later`))
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([usual.status, 'true'])
    expect(again.body.equals(usual.body)).toBe(true)
    for (const name of ['location', 'content-type'])
      expect([name, again.headers[name]]).toEqual([name, usual.headers[name]])
    expect(ran).toEqual([way, way])
  })

  test.each(shell.failures)(
    'F8: a handler that fails (%s) after its client has gone frees the key',
    async (path) => {
      const { url, app, orders } = await open()
      const { leave } = postAndLeave(url, order(`${path}?later`), shell.version)
      await waitFor(() => ran.length === 1, { what: 'the handler' })
      leave()
      await waitFor(async () => (await app.connections()) === 0, { what: 'the server to notice' })
      proceed()
      await waitFor(async () => (await orders.inspect({ key: `POST ${path} k-1`, scope: 'ada' })) === null, {
        what: 'the key to be free',
      })
      expect((await send(url, order(`${path}?later`))).status).toBe(500)
      expect(ran).toEqual([path, path])
    },
  )

  test.runIf(name.startsWith('Express'))('the same idempotency twice before a handler is told', async () => {
    const { url } = await open()
    const answer = await send(url, order('/doubled'))
    expect([answer.status, answer.body.toString()]).toEqual([500, expect.stringContaining('twice')])
    expect(ran).toEqual([])
  })

  test.runIf(name === 'Koa')(
    'F2: a stream that Koa destroys with its client is given up at once',
    async () => {
      const { url } = await open({}, { lease: 100 })
      const { began, leave } = postAndLeave(url, order('/send-slowly'), shell.version)
      await began
      leave()
      const told = await waitFor(
        async () => {
          const answer = await send(url, order('/send-slowly'))
          return answer.headers['retry-after'] === undefined && answer
        },
        { what: 'the repeat to be told', every: 20 },
      )
      expect(JSON.parse(told.body.toString())).toMatchObject({ type: 'urn:holdfast:problem:outcome-unknown' })
      expect(ran).toEqual(['/send-slowly'])
    },
  )

  test('F2: a handler that never answers is given up, and nothing is stuck in progress', async () => {
    const { url } = await open({ maxRun: 50 }, { lease: 100 })
    const { leave } = postAndLeave(url, order('/never'), shell.version)
    await waitFor(() => ran.length === 1, { what: 'the handler' })
    const told = await waitFor(
      async () => {
        const answer = await send(url, order('/never'))
        return answer.headers['retry-after'] === undefined && answer
      },
      { what: 'the repeat to be told', every: 20 },
    )
    expect(JSON.parse(told.body.toString())).toMatchObject({ type: 'urn:holdfast:problem:outcome-unknown' })
    leave()
    expect(ran).toEqual(['/never'])
  })

  test('F2: a handler that ended with its client is given up, too', async () => {
    const { url } = await open({ afterDisconnect: 20 }, { lease: 100 })
    const { leave } = postAndLeave(url, order('/never'), shell.version)
    await waitFor(() => ran.length === 1, { what: 'the handler' })
    expect((await send(url, order('/never'))).headers).toHaveProperty('retry-after', '1')
    leave()
    await waitFor(async () => (await send(url, order('/never'))).headers['retry-after'] === undefined, {
      what: 'the repeat to be told',
      every: 20,
    })
    expect(ran).toEqual(['/never'])
  })

  test('F5: the same with onAbandoned: retry: the next one runs it again after the lease', async () => {
    const { url } = await open({ maxRun: 50 }, { lease: 100, onAbandoned: 'retry' })
    const first = postAndLeave(url, order('/never'), shell.version)
    await waitFor(() => ran.length === 1, { what: 'the handler' })
    await waitFor(
      async () => {
        const next = postAndLeave(url, order('/never'), shell.version)
        await new Promise((resolve) => setTimeout(resolve, 30))
        next.leave()
        return ran.length > 1
      },
      { what: 'the second run' },
    )
    first.leave()
  })

  test('F2: an answer whose source breaks in the middle is not replayed as if it were whole', async () => {
    const { url } = await open({}, { lease: 100 })
    await expect(send(url, order('/broken'))).rejects.toThrow()
    const told = await waitFor(
      async () => {
        const answer = await send(url, order('/broken'))
        return answer.headers['retry-after'] === undefined && answer
      },
      { what: 'the repeat to be told', every: 20 },
    )
    expect(JSON.parse(told.body.toString())).toMatchObject({ type: 'urn:holdfast:problem:outcome-unknown' })
    expect(ran).toEqual(['/broken'])
  })

  test('a scope that gives nothing goes to the framework as an error, and no handler runs', async () => {
    const { url } = await open({ scope: () => '' })
    expect((await send(url, order('/end'))).status).toBe(500)
    expect(ran).toEqual([])
  })

  test('a multipart body cannot be compared, and nobody is led to believe it', async () => {
    const { url } = await open()
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    expect((await send(url, order('/end', 'k', { headers, body: '--b--' }))).status).toBe(500)
    expect(ran).toEqual([])
    const uncompared = await open({ fingerprint: false })
    const answer = await send(uncompared.url, order('/end', 'k', { headers, body: '--b--' }))
    expect(answer.status).toBeLessThan(300)
  })

  test('header fields of the caller’s choice are replayed, cookies too if they are named', async () => {
    const { url } = await open({ replayHeaders: ['X-Internal', 'Set-Cookie'] })
    await send(url, order('/end'))
    const { headers } = await send(url, order('/end'))
    expect(headers).toMatchObject({ 'x-internal': 'no', 'set-cookie': ['session=secret'] })
  })
})

describe('a body that nobody has read', () => {
  const shells = Object.entries(onceShells).filter(([name]) => name !== 'Hono')
  test.each(shells)('%s: is told, and no handler runs', async (_name, shell) => {
    const orders = hf.idempotency('orders')
    const handlers = { ran: (path: string) => ran.push(path), slow: () => slow }
    const app = await shell.start(orders, { unparsed: true }, handlers)
    apps.push(app)
    const send = shell.version === 1 ? post : postHttp2
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' }
    expect((await send(app.url, { path: '/end', body: '{}', headers })).status).toBe(500)
    // Of another type than parsers mostly take: that may be the client's doing.
    const text = { ...headers, 'content-type': 'text/x-unknown' }
    expect((await send(app.url, { path: '/end', body: 'text', headers: text })).status).toBe(415)
    expect(ran).toEqual([])
    expect((await send(app.url, { path: '/end', headers: { 'idempotency-key': 'k' } })).status).not.toBe(500)
  })
})
