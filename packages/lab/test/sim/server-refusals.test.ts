import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  defaultBinary,
  faults,
  programOf,
  startRedis,
  RespError,
  type RedisServer,
  type RespConnection,
} from '../../src/index.ts'
import { ScriptCache } from '../../src/sim/server/lua/script-cache.ts'
import { ModelServer } from '../../src/sim/server/model-server.ts'
import type { Refusal } from '../../src/sim/server/refusals.ts'
import { ServerError, type Reply } from '../../src/sim/server/reply.ts'
import { speaksAsTheModel } from './server-clocked.ts'

/**
 * Goal: the model refuses what Redis refuses in the same state, in the same words.
 * Method: each state is brought about in a real server; commands and scripts are given to both.
 */

const COMMANDS: readonly (readonly string[])[] = [
  ['GET', 'text'],
  ['SET', 'text', 'y'],
  ['DEL', 'none'],
  ['PEXPIRE', 'text', '100000'],
  ['EXISTS', 'text'],
  ['ZADD', 'queue', '1', 'm'],
  ['ZREM', 'queue', 'none'],
  ['PUBLISH', 'channel', 'x'],
  ['PING'],
  ['EVAL', 'return 1', '0'],
  ['EVAL', "return redis.call('GET', 'text')", '0'],
  ['EVAL', "return redis.call('SET', 'text', 'y')", '0'],
  ['EVAL', "return redis.pcall('SET', 'text', 'y')", '0'],
  ['EVAL', "return { redis.pcall('DEL', 'none'), redis.pcall('SET', 'text', 'y') }", '0'],
  ['EVAL', "return { redis.pcall('PEXPIRE', 'text', 100000), redis.pcall('ZADD', 'queue', 1, 'm') }", '0'],
  ['EVAL', "return { redis.pcall('SET', 'text', 'y'), redis.pcall('DEL', 'none') }", '0'],
  ['EVAL', "return redis.call('PUBLISH', 'channel', 'x')", '0'],
  ['EVALSHA', 'ffffffffffffffffffffffffffffffffffffffff', '0'],
  ['SCRIPT', 'EXISTS', 'ffffffffffffffffffffffffffffffffffffffff'],
]

const scripts = new ScriptCache()
let server: RedisServer
let connection: RespConnection

beforeAll(async () => {
  server = await startRedis()
  connection = await server.connect()
})
afterAll(async () => {
  connection.close()
  await server.stop()
})

const toTheLetter = await speaksAsTheModel()
/** On others than Redis 7.0 an error is its code. */
function told(reply: Reply): unknown {
  if (toTheLetter) return reply
  if (Array.isArray(reply)) return reply.map(told)
  return reply instanceof ServerError ? `error ${reply.code}` : reply
}

async function ask(command: readonly string[]): Promise<Reply> {
  try {
    return values(await connection.call(...command))
  } catch (error) {
    if (error instanceof RespError) return new ServerError(error.message)
    throw error
  }
}

const values = (reply: unknown): Reply =>
  reply instanceof RespError
    ? new ServerError(reply.message)
    : Array.isArray(reply)
      ? reply.map(values)
      : (reply as Reply)

const STATES: readonly [Refusal, (of: RedisServer) => Promise<faults.Undo>][] = [
  ['READONLY', faults.readOnly],
  ['OOM', faults.oom],
  ['NOREPLICAS', faults.noReplicas],
  ['MISCONF', faults.misconf],
  ['BUSY', faults.busy],
  ['LOADING', faults.loading],
]

describe.each(STATES)('%s', (refusal, bringAbout) => {
  test('refuses the same in the same words', async () => {
    const model = new ModelServer({ scripts })
    const setUp = [['FLUSHALL'], ['SET', 'text', 'x'], ['SCRIPT', 'FLUSH']]
    for (const command of setUp) {
      model.execute(command, 1)
      await ask(command)
    }
    const undo = await bringAbout(server)
    if (connection.closed) connection = await server.connect()
    try {
      model.refusal = refusal
      for (const command of COMMANDS)
        expect([command, told(model.execute(command, 1))]).toEqual([command, told(await ask(command))])
    } finally {
      await undo()
    }
    model.refusal = null
    expect(model.execute(['SET', 'text', 'z'], 1)).toEqual(await ask(['SET', 'text', 'z']))
  })
})

describe('a replica', () => {
  test('has what was applied, and lags by the rest', () => {
    const primary = new ModelServer({ scripts, replicated: true })
    const replica = new ModelServer({ scripts })
    primary.execute(['SET', 'a', '1', 'PX', '100'], 0)
    primary.execute(['GET', 'a'], 0)
    primary.execute(['EVAL', "redis.call('ZADD', 'z', 1, 'm') redis.call('DEL', 'a')", '0'], 0)
    primary.execute(['ZADD', 'z', '2', 'n'], 0)
    const effects = primary.effects?.since(0) ?? []
    expect(effects.map(({ offset, changes }) => [offset, [...changes.keys()]])).toEqual([
      [1, ['a']],
      [2, ['z', 'a']],
      [3, ['z']],
    ])
    replica.apply(effects[0] as (typeof effects)[number])
    expect(replica.pttl('a', 40_000)).toBe(60)
    replica.apply(effects[1] as (typeof effects)[number])
    expect(replica.keys(0)).toEqual(['z'])
    expect(replica.execute(['ZRANGE', 'z', '0', '-1'], 0)).toEqual(['m'])
    // What it does on its own is no one else's.
    replica.execute(['ZADD', 'z', '3', 'own'], 0)
    expect(primary.execute(['ZRANGE', 'z', '0', '-1'], 0)).toEqual(['m', 'n'])
    primary.effects?.forget(2)
    expect(primary.effects?.since(0).map(({ offset }) => offset)).toEqual([3])
  })

  test('is told when a key has expired', () => {
    const primary = new ModelServer({ scripts, replicated: true })
    primary.execute(['SET', 'a', '1', 'PX', '100'], 0)
    expect(primary.execute(['GET', 'a'], 100_999)).toBe('1')
    expect(primary.execute(['GET', 'a'], 101_000)).toBeNull()
    expect(primary.effects?.since(1).map(({ changes }) => [...changes])).toEqual([[['a', null]]])
  })
})

describe('a snapshot', () => {
  test('stays as it was; restored, scripts are forgotten', () => {
    const model = new ModelServer({ scripts })
    model.execute(['ZADD', 'z', '1', 'm'], 0)
    const sha1 = model.execute(['SCRIPT', 'LOAD', 'return 1'], 0) as string
    const snapshot = model.snapshot()
    model.execute(['ZADD', 'z', '2', 'n'], 0)
    model.execute(['SET', 'other', 'x'], 0)
    model.restore(snapshot)
    expect(model.keys(0)).toEqual(['z'])
    expect(model.execute(['ZCARD', 'z'], 0)).toBe(1)
    expect(model.execute(['EVALSHA', sha1, '0'], 0)).toBeInstanceOf(ServerError)
    model.execute(['ZADD', 'z', '2', 'n'], 0)
    model.restore(snapshot)
    expect(model.execute(['ZCARD', 'z'], 0)).toBe(1)
    model.flush()
    expect(model.keys(0)).toEqual([])
  })

  test('one key is evicted', () => {
    const model = new ModelServer({ scripts })
    model.execute(['SET', 'a', '1'], 0)
    model.execute(['SET', 'b', '1'], 0)
    model.evict('a')
    expect(model.keys(0)).toEqual(['b'])
  })
})

/** `EXISTS` and `PTTL` of keys that expire so many ms before and after the moment of the script. */
const AROUND_NOW = `
local clock = redis.call('TIME')
local now = math.floor((clock[1] * 1000000 + clock[2]) / 1000)
local found = {}
for delta = -2, 2 do
  local key = 'at' .. delta
  redis.call('SET', key, 'x', 'PXAT', string.format('%.0f', now + delta))
  found[#found + 1] = redis.call('EXISTS', key)
  redis.call('SET', key, 'x')
  redis.call('PEXPIREAT', key, string.format('%.0f', now + delta))
  found[#found + 1] = redis.call('EXISTS', key)
  redis.call('DEL', key)
end
return found`

test('a key is there up to the very millisecond of its expiry', async () => {
  const model = new ModelServer({ scripts })
  const expected = [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]
  // Valkey takes a SET for over that is to expire now; our scripts give what is to come.
  const { name } = await programOf(defaultBinary())
  const found = name === 'Valkey' ? [0, 0, 0, 0, 0, 0, 1, 1, 1, 1] : expected
  expect(model.execute(['EVAL', AROUND_NOW, '0'], 1_700_000_000_123_456)).toEqual(expected)
  // In a script the real server's clock for expiry stands still, TIME may run on by a millisecond: nearly always the same.
  let same = 0
  for (let i = 0; i < 40; i++)
    if (JSON.stringify(await ask(['EVAL', AROUND_NOW, '0'])) === JSON.stringify(found)) same += 1
  expect(same).toBeGreaterThan(20)
})
