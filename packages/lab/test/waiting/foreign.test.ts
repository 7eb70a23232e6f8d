import { listen, type HoldfastEvents } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { clientKinds } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer, type RespConnection } from '../../src/index.ts'
import { Scene } from '../support/scene.ts'

/**
 * Goal: with an exact key, other software that locks by `SET key value NX PX` excludes us, and we exclude it; neither ever
 * touches what is the other's.
 * Method: a bare connection plays the other software, word by word as it is written in Python, Go or Java.
 */

const KEY = 'locks/order 123'
const SOON_MS = 500
const POLL_MS = 1_250 + SOON_MS

/** How everybody releases: only what has one's own value. */
const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"

let server: RedisServer
let foreign: RespConnection
let scene: Scene

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  foreign = await server.connect()
})
afterEach(async () => {
  foreign.close()
  await scene.end()
})

const foreignTakes = (value: string, ms = 30_000) => foreign.call('SET', KEY, value, 'NX', 'PX', ms)
const foreignReleases = (value: string) => foreign.call('EVAL', COMPARE_AND_DELETE, 1, KEY, value)
const lock = (options: object = {}) => scene.hf.lock('order', { key: KEY, ...options })

describe.each(clientKinds)('L10: %s', (kind) => {
  beforeEach(async () => {
    scene = await Scene.open(server, { kind })
  })

  test('who came first excludes the other, in both directions', async () => {
    expect(await foreignTakes('python:1')).toBe('OK')
    expect(await lock().tryRun(() => 1)).toEqual({ ran: false, holder: 'python:1' })
    expect(await foreignReleases('python:1')).toBe(1)
    const held = await lock().acquire()
    expect(await foreign.call('GET', KEY)).toBe(`${held.owner}#${held.fence}`)
    expect(await foreignTakes('python:1')).toBeNull()
    expect(await foreignReleases('python:1')).toBe(0)
    held.assertHeld()
    await held.release()
    expect(await foreignTakes('python:1')).toBe('OK')
  })

  test('we are in when it has released, or when its lease has ended', async () => {
    await foreignTakes('go:1')
    const first = lock({ wait: '20s' }).acquire()
    await sleep(300)
    const releasedAt = performance.now()
    await foreignReleases('go:1')
    const held = await first
    expect(performance.now() - releasedAt).toBeLessThan(POLL_MS)
    await held.release()
    await foreignTakes('go:2', 400)
    const began = performance.now()
    const second = await lock({ wait: '20s' }).acquire()
    const waited = performance.now() - began
    expect(waited).toBeGreaterThan(300)
    expect(waited).toBeLessThan(400 + SOON_MS)
    await second.release()
  })
})

describe('L10: what is the other’s', () => {
  beforeEach(async () => {
    scene = await Scene.open(server)
  })

  test('is not released by us when it has taken over, and both are told', async () => {
    const told: HoldfastEvents['holdfast:lock:foreign-release'][] = []
    const stop = listen('holdfast:lock:foreign-release', (event) => told.push(event))
    const held = await lock({ renew: false }).acquire()
    await foreign.call('DEL', KEY)
    await foreignTakes('java:1')
    expect(await held.release()).toEqual({ released: false, reason: 'taken' })
    stop()
    expect(told).toEqual([{ lock: 'order', key: KEY, owner: held.owner, holder: 'java:1' }])
    expect(await foreign.call('GET', KEY)).toBe('java:1')
    expect(await foreign.call('PTTL', KEY)).toBeGreaterThan(25_000)
  })

  test('is not renewed by us when it has taken over: we learn that it is taken', async () => {
    const held = await lock({ ttl: 600 }).acquire()
    await foreign.call('SET', KEY, 'java:1', 'PX', 10_000)
    await waitFor(() => held.lost !== null, { what: 'the loss' })
    expect(held.lost).toBe('taken')
    expect(await foreign.call('PTTL', KEY)).toBeLessThanOrEqual(10_000)
    expect(await foreign.call('GET', KEY)).toBe('java:1')
  })

  test('looks like what it is when it is inspected', async () => {
    await foreignTakes('550e8400-e29b-41d4-a716-446655440000', 5_000)
    const info = await scene.hf.inspect('order', { key: KEY })
    expect(info).toMatchObject({
      owner: '550e8400-e29b-41d4-a716-446655440000',
      since: null,
      fence: null,
      lease: null,
      waiters: 0,
    })
    expect(info?.remaining).toBeGreaterThan(4_000)
    expect(info?.remaining).toBeLessThanOrEqual(5_000)
  })

  test.each([
    'worker#42',
    'a#1;trace=x',
    '',
    '#',
    'a b\nc',
    '{"host":"x","pid":1}',
    'ünï😀',
    '12',
    `${'a'.repeat(21)}@host:1#5`,
  ])('is an owner whole, whatever it writes: %j', async (value) => {
    await foreignTakes(value)
    expect(await scene.hf.inspect('order', { key: KEY })).toMatchObject({
      owner: value,
      fence: null,
      since: null,
    })
    expect(await lock().tryRun(() => 1)).toEqual({ ran: false, holder: value })
    expect(await scene.hf.forceRelease('order', { key: KEY })).toMatchObject({
      released: true,
      holder: value,
    })
    expect(await foreign.call('EXISTS', KEY)).toBe(0)
  })

  test('without an expiry it is waited for as any other, without a rush, and the end of the wait names it', async () => {
    await foreign.call('SET', KEY, 'forgotten:1', 'NX')
    expect(await scene.hf.inspect('order', { key: KEY })).toMatchObject({
      owner: 'forgotten:1',
      remaining: null,
    })
    scene.proxy.resetCounts()
    const refusal: unknown = await lock({ wait: 1_500 })
      .acquire()
      .catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'LOCK_TIMEOUT', holder: 'forgotten:1' })
    expect(scene.proxy.commands.total).toBeLessThanOrEqual(8)
    expect(await foreign.call('PTTL', KEY)).toBe(-1)
    expect(await scene.hf.forceRelease('order', { key: KEY, owner: 'forgotten:1' })).toMatchObject({
      released: true,
    })
    await lock().run(() => undefined)
  })

  test('of another type it is refused, and says what lies there', async () => {
    await foreign.call('HSET', KEY, 'owner', 'java:1')
    const refusal: unknown = await lock()
      .acquire()
      .catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      code: 'STORE_REFUSED',
      outcome: 'not-done',
      details: { reason: 'WRONGTYPE' },
    })
    await expect(scene.hf.inspect('order', { key: KEY })).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    await expect(scene.hf.forceRelease('order', { key: KEY })).rejects.toMatchObject({
      code: 'STORE_REFUSED',
    })
    expect(await foreign.call('HGET', KEY, 'owner')).toBe('java:1')
  })
})

describe('L10: an exact key', () => {
  beforeEach(async () => {
    scene = await Scene.open(server)
  })

  test('is one lock whatever its name, and another than the lock of that name', async () => {
    const held = await lock().acquire()
    expect(await scene.hf.lock('other name', { key: KEY }).tryAcquire()).toBeNull()
    expect(await scene.hf.lock('order').tryAcquire()).not.toBeNull()
    expect(await scene.hf.lock(KEY).tryAcquire()).not.toBeNull()
    expect(held.name).toBe('order')
  })

  test('waits in a queue of its own, and is woken', async () => {
    const other = await scene.another()
    const held = await other.lock('order', { key: KEY }).acquire()
    const waiting = lock().acquire()
    await waitFor(async () => (await scene.hf.inspect('order', { key: KEY }))?.waiters === 1, {
      what: 'a waiter',
    })
    expect(await server.command('ZCARD', `${scene.prefix}:{${KEY}}:exact:queue`)).toBe(2)
    await sleep(200)
    const releasedAt = performance.now()
    await held.release()
    await (await waiting).release()
    expect(performance.now() - releasedAt).toBeLessThan(SOON_MS)
  })

  test('with braces is taken as it is', async () => {
    for (const key of ['a{b}c', '}{', 'x{}:lock', 'locks/ü😀']) {
      const held = await scene.hf.lock('order', { key }).acquire()
      expect(await foreign.call('GET', key)).toBe(`${held.owner}#${held.fence}`)
      await held.release()
      expect(await foreign.call('EXISTS', key)).toBe(0)
    }
  })
})

describe('B9: hostile names', () => {
  beforeEach(async () => {
    scene = await Scene.open(server)
  })

  test('are locks as all others: had, waited for, woken, inspected, forced and given back', async () => {
    const other = await scene.another()
    const names = [
      '{',
      '}',
      '{}',
      'a{',
      '}{',
      'a b',
      '\0',
      '\r\n',
      '%',
      '%7B',
      '😀',
      '\u2028',
      'x'.repeat(10_000),
    ]
    await Promise.all(
      names.map(async (name) => {
        const held = await other.lock(name).acquire()
        expect(held.name).toBe(name)
        const waiting = scene.hf.lock(name).acquire()
        await waitFor(async () => (await scene.hf.inspect(name))?.waiters === 1, { what: 'a waiter' })
        const releasedAt = performance.now()
        await held.release()
        const second = await waiting
        expect(performance.now() - releasedAt).toBeLessThan(POLL_MS)
        expect(await other.forceRelease(name)).toMatchObject({ released: true, holder: second.owner })
        await waitFor(() => second.lost !== null, { what: 'the holder to be told' })
        expect(second.lost).toBe('forced')
      }),
    )
    expect(await scene.keys()).toEqual([])
  })
})
