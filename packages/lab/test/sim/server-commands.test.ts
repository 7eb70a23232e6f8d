import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ScriptCache } from '../../src/sim/server/lua/script-cache.ts'
import { ModelServer } from '../../src/sim/server/model-server.ts'
import { ClockedRedis, CONTENTS, speaksAsTheModel } from './server-clocked.ts'

/**
 * Goal: the model of the server answers as Redis does, and has the same in its keys, whatever the clock does.
 * Method: random commands with random clock readings are fed to both; every reply and, after each, all keys with their types,
 * contents and expiries must be the same. See server-clocked.ts for how a real server is given a clock.
 */

/** Of each type mostly one key, so that commands find what they are for. */
const KEYS = ['text', 'other', 'sorted', 'list', 'hash', 'set']
/** In the real server's future. */
const START = 1_900_000_000_000_000

let real: ClockedRedis
const scripts = new ScriptCache()

beforeAll(async () => {
  real = await ClockedRedis.start(KEYS)
})
afterAll(() => real.stop())

const anyKey = fc.constantFrom(...KEYS)
const mostly = (...keys: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...keys) }, { weight: 1, arbitrary: anyKey })
const key = mostly('text', 'other')
const sorted = mostly('sorted')
const text = fc.oneof(
  fc.constantFrom('', '1', '-7', '12x', '9007199254740991', '0', 'nan', 'é'),
  fc.string({ maxLength: 4 }),
)
const member = fc.constantFrom('m', 'n', 'o', 'beat:m')
const score = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map(String),
  fc.double({ noNaN: true }).map((number) => String(number).replace('Infinity', 'inf')),
  fc.constantFrom('1900000000000', '-3800000000001', 'inf', '-inf', 'nan', 'x'),
)
const bound = fc.oneof(
  score,
  fc.integer({ min: -5, max: 5 }).map((number) => `(${number}`),
)
const index = fc.integer({ min: -6, max: 12 }).map(String)
const ms = fc.constantFrom('-1', '0', '1', '2', '499', '500', '1000', '1501', '2500', 'x')
/** A time near that of the call; see {@link atTime}. */
const when = fc.integer({ min: -3, max: 3 }).map((delta) => `@${delta}`)

const condition = fc.constantFrom([], ['NX'], ['XX'])
const lifetime = fc.oneof(
  fc.constant([]),
  fc.constant(['KEEPTTL']),
  fc.tuple(fc.constantFrom('PX', 'EX', 'px'), ms),
  fc.tuple(fc.constant('PXAT'), when),
)
const set = fc
  .tuple(key, text, condition, lifetime, fc.constantFrom([], ['GET']))
  .map(([k, value, only, life, get]) => ['SET', k, value, ...only, ...life, ...get])

const scored = fc.array(fc.tuple(score, member), { minLength: 1, maxLength: 3 })
const adding = fc
  .tuple(sorted, fc.constantFrom([], ['NX'], ['XX'], ['GT'], ['LT'], ['CH'], ['XX', 'CH']), scored)
  .map(([k, options, pairs]) => ['ZADD', k, ...options, ...pairs.flat()])
const withScores = fc.constantFrom([], ['WITHSCORES'])
const limit = fc.oneof(
  fc.constant([]),
  fc.tuple(fc.constant('LIMIT'), fc.constantFrom('0', '1', '2', '-1'), fc.constantFrom('-1', '0', '1', '2')),
)

/** A command of a name and words. */
const of = (name: string, ...words: fc.Arbitrary<string | readonly string[]>[]) =>
  fc.tuple(...words).map((parts) => [name, ...parts.flat()])

const command: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 6, arbitrary: set },
  { weight: 4, arbitrary: adding },
  of('GET', key),
  of('MGET', key, key, anyKey),
  of('DEL', anyKey, anyKey),
  of('EXISTS', anyKey, anyKey),
  { weight: 2, arbitrary: of('TYPE', anyKey) },
  { weight: 2, arbitrary: of('PTTL', anyKey) },
  { weight: 2, arbitrary: of('TTL', anyKey) },
  { weight: 2, arbitrary: of('PEXPIRETIME', anyKey) },
  { weight: 3, arbitrary: of('PEXPIRE', anyKey, ms) },
  { weight: 3, arbitrary: of('EXPIRE', anyKey, ms) },
  of('PEXPIRE', anyKey, ms, fc.constantFrom('NX', 'XX', 'GT', 'LT', 'lt', 'ZZ')),
  of('PEXPIREAT', anyKey, when),
  { weight: 2, arbitrary: of('PERSIST', anyKey) },
  of('PSETEX', key, ms, text),
  of('SETNX', key, text),
  of('GETDEL', key),
  of('STRLEN', key),
  of('APPEND', key, text),
  of('GETRANGE', key, index, index),
  of('SETRANGE', key, index, text),
  of('INCR', key),
  of('DECR', key),
  of('INCRBY', key, fc.constantFrom('5', '-3', 'x')),
  of('ZREM', sorted, member, member),
  of('ZSCORE', sorted, member),
  of('ZCARD', sorted),
  of('ZCOUNT', sorted, bound, bound),
  of('ZRANGEBYSCORE', sorted, bound, bound, withScores, limit),
  of('ZREVRANGEBYSCORE', sorted, bound, bound, withScores, limit),
  of('ZRANGE', sorted, index, index, withScores),
  of('ZREVRANGE', sorted, index, index, withScores),
  of('RPUSH', mostly('list'), text, text),
  of('LRANGE', mostly('list'), index, index),
  of('LLEN', mostly('list')),
  of('HSET', mostly('hash'), member, text),
  of('HGET', mostly('hash'), member),
  of('HDEL', mostly('hash'), member),
  of('SADD', mostly('set'), member),
  of('TIME'),
  of('ECHO', text),
  of('PING'),
  of('PUBLISH', key, text),
)

/** Steps of the clock in microseconds: mostly forward, also back. */
const passing = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 3_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -2_000_000, max: -1 }) },
)

/** A word that says when, as milliseconds. */
const atTime = (word: string, nowMicros: number): string =>
  /^@-?\d$/.test(word) ? String(Math.floor(nowMicros / 1_000) + Number(word.slice(1))) : word

/** What the real server says to each step, and what lies in it after that. All are sent at once. */
const onRealServer = (steps: readonly { asked: readonly string[]; at: number }[]) =>
  Promise.all(steps.map(async ({ asked, at }) => Promise.all([real.execute(asked, at), real.contents(at)])))

const alike = await speaksAsTheModel()

test.skipIf(!alike)(
  'random commands: the same replies, keys and expiries as a real server (skipped: only Redis 7.0 writes all numbers as the model does)',
  async () => {
    const trace = fc.array(fc.tuple(passing, command), { minLength: 30, maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(trace, async (moves) => {
        await real.flush()
        let at = START
        const steps = moves.map(([passed, words]) => {
          at += passed
          const now = at
          return { asked: words.map((word) => atTime(word, now)), at: now }
        })
        const replies = await onRealServer(steps)
        const model = new ModelServer({ scripts })
        for (const [i, { asked, at: now }] of steps.entries()) {
          const answered = model.execute(asked, now)
          const contents = model.execute(['EVAL', CONTENTS, String(KEYS.length), ...KEYS], now)
          expect({ asked, replies: [answered, contents] }).toEqual({ asked, replies: replies[i] })
        }
      }),
      { numRuns: 80, endOnFailure: true },
    )
  },
)
