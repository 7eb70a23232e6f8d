import { createHoldfast, StoreRefusedError, type Holdfast } from 'holdfast'
import { redisStore, type IoredisLike } from 'holdfast/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectClient, type ConnectedClient } from '../../src/clients.ts'
import { sleep, startRedis, waitFor, type RedisServer } from '../../src/index.ts'
import { settle } from '../support/settling.ts'

/**
 * Goal: every refusal is classed, as it is and wrapped in a script's error, in the words of old and new servers.
 * Method: a client that throws what a server would say, in front of a real one. CLUSTERDOWN and TRYAGAIN cannot be had from a
 * single server at all; the others are also brought about for real (refusals.test.ts).
 */

/** The servers' own words. */
const SAID: Record<string, string> = {
  READONLY: "READONLY You can't write against a read only replica.",
  LOADING: 'LOADING Redis is loading the dataset in memory',
  MASTERDOWN: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  CLUSTERDOWN: 'CLUSTERDOWN The cluster is down',
  TRYAGAIN: 'TRYAGAIN Multiple keys request during rehashing of slot',
  BUSY: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  MISCONF:
    'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  OOM: "OOM command not allowed when used memory > 'maxmemory'.",
  NOREPLICAS: 'NOREPLICAS Not enough good replicas to write.',
}

const SHA = '2067d915024a3e1657c4169c84f809f8ebd5ef20'
const WRAPPINGS: Record<string, (said: string) => string> = {
  'as it is': (said) => said,
  "in a script's error, Redis 6": (said) =>
    `ERR Error running script (call to f_${SHA}): @user_script:12: @user_script: 12: -${said} `,
  "in a script's error, Redis 7": (said) => `${said} script: ${SHA}, on @user_script:12.`,
  'raised again by a script, Redis 7': (said) => `ERR ${said} script: ${SHA}, on @user_script:12.`,
}

const BUDGET = 300
const PREFIX = 'fake:v1'

let server: RedisServer
let real: ConnectedClient
let hf: Holdfast
/** What the next commands are answered with; `null`: what the real server says. */
let refusal: string | null

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  refusal = null
  real = await connectClient('ioredis', server.url)
  const client = real.client as IoredisLike
  const call: IoredisLike['call'] = client.call.bind(client)
  const refusing = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== 'call') return typeof value === 'function' ? (value.bind(target) as unknown) : value
      return async (...args: Parameters<typeof call>) => {
        if (refusal === null) return call(...args)
        await sleep(1)
        throw new Error(refusal)
      }
    },
  })
  hf = createHoldfast({ store: redisStore(refusing), budget: BUDGET, prefix: PREFIX })
})
afterEach(async () => {
  refusal = null
  await hf.close()
  real.close()
  await server.command('FLUSHALL')
})

const cases = Object.keys(SAID).flatMap((code) => Object.keys(WRAPPINGS).map((how) => [code, how] as const))

describe.each(cases)('D13: %s, %s', (code, how) => {
  const said = (WRAPPINGS[how] as (said: string) => string)(SAID[code] as string)

  test('is worth a retry: told after the wait, outlasted within it, and no loss', async () => {
    const held = await hf.lock('held', { ttl: 3_000 }).acquire()
    refusal = said
    const given = await settle(hf.lock('a').acquire({ wait: 50 }))
    expect(given.error).toBeInstanceOf(StoreRefusedError)
    expect(given.error).toMatchObject({ retryable: true, outcome: 'not-done', details: { reason: code } })
    expect(given.error?.message).toContain(said.trim())
    // The remedy: a sentence behind what the server said.
    expect(given.error?.message).toMatch(/"\. [A-Z].*\.$/)
    const going = hf.lock('a').acquire({ wait: '10s' })
    await sleep(BUDGET)
    expect(held.lost).toBeNull()
    refusal = null
    expect((await going).lost).toBeNull()
    await held.extend(3_000)
    expect(held.lost).toBeNull()
  })
})

test('D13: a refusal that is for good is told at once', async () => {
  for (const said of [
    'NOPERM this user has no permissions',
    'NOAUTH Authentication required.',
    'ERR syntax error',
  ]) {
    refusal = said
    const { ms, error } = await settle(hf.lock('a').acquire({ wait: '1m' }))
    expect(error).toMatchObject({ code: 'STORE_REFUSED', retryable: false })
    expect(error?.message).toContain(said)
    expect(ms).toBeLessThan(1_000)
  }
})

describe('a key of another type', () => {
  const fillers: Record<string, readonly string[]> = {
    list: ['RPUSH', 'x'],
    hash: ['HSET', 'f', 'v'],
    set: ['SADD', 'x'],
    zset: ['ZADD', '1', 'x'],
    stream: ['XADD', '*', 'f', 'v'],
  }

  test.each(Object.entries(fillers))(
    'a %s: refused at first use, with what lies there',
    async (type, filler) => {
      const [command = '', ...rest] = filler
      const key = `${PREFIX}:{a}:lock`
      await server.command(command, key, ...rest)
      // What a busy machine makes it ask twice is of unknown outcome.
      const patient = createHoldfast({ store: redisStore(real.client), budget: '20s', prefix: PREFIX })
      const other = await patient.lock('b').acquire()
      for (const run of [
        () => patient.lock('a').acquire({ wait: '1m' }),
        () => patient.lock('a').tryAcquire(),
        () => patient.inspect('a'),
        () => patient.forceRelease('a', { owner: 'x' }),
      ]) {
        const { ms, error } = await settle<unknown>(run())
        expect(error).toBeInstanceOf(StoreRefusedError)
        expect(error).toMatchObject({
          retryable: false,
          outcome: 'not-done',
          details: { reason: 'WRONGTYPE' },
        })
        expect(error?.message).toContain(`a ${type} lies at ${key}`)
        expect(error?.message).toContain('Choose another name or prefix')
        expect(ms).toBeLessThan(5_000)
      }
      // It does not take the others of its call along, and nothing was touched.
      expect(await other.release()).toEqual({ released: true, confirmed: true })
      expect(await server.command('TYPE', key)).toBe(type)
      await patient.close()
    },
  )

  test('in the place of the last fence: the same', async () => {
    await server.command('RPUSH', `${PREFIX}:fence`, 'x')
    const { error } = await settle(hf.lock('a').acquire())
    expect(error).toMatchObject({ code: 'STORE_REFUSED', details: { reason: 'WRONGTYPE' } })
    expect(error?.message).toContain(`a list lies at ${PREFIX}:fence`)
    expect(await server.command('EXISTS', `${PREFIX}:{a}:lock`)).toBe(0)
  })

  test('that takes the place of a held lock: the holder is not told that it holds on', async () => {
    const held = await hf.lock('a', { ttl: 600 }).acquire()
    await server.command('DEL', `${PREFIX}:{a}:lock`)
    await server.command('RPUSH', `${PREFIX}:{a}:lock`, 'x')
    await waitFor(() => held.lost !== null, { what: 'the loss to be told' })
    const { error } = await settle(held.extend('1m'))
    expect(error).toMatchObject({ code: 'LOCK_LOST' })
  })
})
