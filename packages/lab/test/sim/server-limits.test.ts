import fc from 'fast-check'
import { systemClock, systemRandomness } from 'holdfast/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limitAddress } from '../../../holdfast/src/name.ts'
import { Attempt } from '../../../holdfast/src/store/attempt.ts'
import type { Policy } from '../../../holdfast/src/store/limit/policy.ts'
import { usageSuffix } from '../../../holdfast/src/stores/redis/limit-rules.ts'
import { RedisLimitStore } from '../../../holdfast/src/stores/redis/limit-store.ts'
import { ServerLink } from '../../../holdfast/src/stores/redis/link.ts'
import block from '../../../holdfast/src/stores/redis/lua/limit-block.lua'
import count from '../../../holdfast/src/stores/redis/lua/limit-count.lua'
import peek from '../../../holdfast/src/stores/redis/lua/limit-peek.lua'
import recount from '../../../holdfast/src/stores/redis/lua/limit-recount.lua'
import renew from '../../../holdfast/src/stores/redis/lua/limit-renew.lua'
import reset from '../../../holdfast/src/stores/redis/lua/limit-reset.lua'
import type { RedisPort } from '../../../holdfast/src/stores/redis/port.ts'
import { ScriptCache } from '../../src/sim/server/lua/script-cache.ts'
import { ModelServer } from '../../src/sim/server/model-server.ts'
import { ServerError, type Reply } from '../../src/sim/server/reply.ts'
import { ClockedRedis, CONTENTS } from './server-clocked.ts'

/**
 * Goal: the limit scripts do in the model what they do in Redis.
 * Method: the library's own store works on the model, through random takes, adjustments, blocks and resets under a clock that also
 * steps back; some calls it asks twice. Every call that it made is then played to a real server: same replies, same keys.
 */

const ADDRESSES = ['one', 'two'].map((subject) => limitAddress('p', 'api', subject))
const SUFFIXES = ['a', 'b'].map((name) =>
  usageSuffix({ kind: 'token-bucket', name, capacity: 1, refill: 1, per: 1 }),
)
const KEYS = ADDRESSES.flatMap(({ key }) => [key, ...SUFFIXES.map((suffix) => key + suffix)])
/** What the keys for replies begin with. */
const REPLIES = 'p:{limits}:reply:'
/** In the real server's future, in milliseconds; bucket levels of that time are compact. */
const START = 1_900_000_000_000

const sources = new Map([block, count, peek, recount, renew, reset].map(({ sha1, source }) => [sha1, source]))
const scripts = new ScriptCache()
let real: ClockedRedis

beforeAll(async () => {
  real = await ClockedRedis.start(KEYS)
})
afterAll(() => real.stop())

interface Asked {
  readonly command: readonly string[]
  readonly nowMicros: number
  readonly reply: Reply
  readonly contents: Reply
  /** The keys that it names for replies. */
  readonly replies: readonly string[]
}

/** The way of a store to a model; notes what was asked. */
class ModelPort implements RedisPort {
  readonly client = 'ioredis'
  readonly ready = true
  readonly connection = 1
  readonly asked: Asked[] = []
  readonly model = new ModelServer({ scripts })
  nowMicros = START * 1_000 + 500
  /** Ask every call twice, as a client does whose connection broke. */
  twice = false
  /** Lose the next reply. */
  loses = false

  async send(command: readonly string[]): Promise<unknown> {
    if (this.twice) this.#ask(command)
    const reply = this.#ask(command)
    if (reply instanceof ServerError) throw new Error(reply.message)
    if (this.loses && command[0] !== 'TIME') {
      this.loses = false
      throw new Error('Connection is closed.')
    }
    return reply
  }

  #ask(command: readonly string[]): Reply {
    const { model, nowMicros } = this
    const reply = model.execute(command, nowMicros)
    const replies = command.filter((word) => word.startsWith(REPLIES))
    const keys = [...KEYS, ...replies]
    const contents = model.execute(['EVAL', CONTENTS, String(keys.length), ...keys], nowMicros)
    if (!isNoScript(reply) && command[0] !== 'TIME')
      this.asked.push({ command, nowMicros, reply, contents, replies })
    return reply
  }

  async whenReady(): Promise<void> {}
  subscribe(): { close(): Promise<void> } {
    throw new Error('limits subscribe to nothing')
  }
  withConnection(): Promise<never> {
    throw new Error('limits need no connection of their own')
  }
  onConnection(): void {}
  onEnd(): void {}
  distrust(): void {}
  detach(): void {}
}

const isNoScript = (reply: Reply) => reply instanceof ServerError && reply.code === 'NOSCRIPT'

const limit = fc.constantFrom(1, 3, 10, 130, 100_000)
const per = fc.constantFrom(1, 7, 100, 1_900)
const policyNamed = (name: string): fc.Arbitrary<Policy> =>
  fc.tuple(fc.nat(5), limit, per).map(([kind, most, span]): Policy => {
    switch (kind) {
      case 0:
        return { kind: 'fixed-window', name, limit: most, per: span }
      case 1:
        return { kind: 'sliding-window', name, limit: most, per: span }
      case 2:
        return { kind: 'sliding-counter', name, limit: most, per: span }
      case 3:
        return { kind: 'token-bucket', name, capacity: most, refill: most, per: span }
      case 4:
        return { kind: 'leaky-bucket', name, capacity: most, rate: most, per: span }
      default:
        return { kind: 'concurrency', name, limit: most, lease: span }
    }
  })
const policySets = fc.array(
  fc.oneof(
    policyNamed('a').map((one) => [one]),
    fc.tuple(policyNamed('a'), policyNamed('b')).map(([one, two]) => [one, two]),
  ),
  { minLength: 1, maxLength: 2 },
)

const cost = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.constantFrom(40, 70_000))
const move: fc.Arbitrary<Move> = fc.record({
  passed: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 900 }) },
    { weight: 1, arbitrary: fc.integer({ min: -700, max: 2_500 }) },
  ),
  what: fc.constantFrom(
    ...['take', 'take', 'take', 'take', 'reserve', 'denied', 'peek', 'adjust', 'adjust', 'renew', 'block'],
    ...['reset', 'limits', 'twice', 'foreign', 'together', 'lose', 'lose'],
  ),
  cost,
  number: fc.nat(50),
})
interface Move {
  readonly passed: number
  readonly what: string
  readonly cost: number
  readonly number: number
}

/** Lets the store of a model go through all moves. */
async function play(sets: readonly (readonly Policy[])[], moves: readonly Move[]): Promise<ModelPort> {
  const port = new ModelPort()
  const store = new RedisLimitStore(new ServerLink(port, systemClock), {
    clock: systemClock,
    randomness: systemRandomness,
  })
  const taken: { id: string; at: number; cost: number }[] = []
  let policies = sets[0] as readonly Policy[]
  const attempt = () => {
    const time = systemClock.monotonic()
    return new Attempt(time + 10_000, time + 1e12)
  }
  const take = async (of: Move, countDenied: boolean, returnAfter: number | null, subject: number) => {
    const id = `take${String(taken.length).padStart(18, '0')}`
    taken.push({ id, at: Math.floor(port.nowMicros / 1_000), cost: of.cost })
    const address = ADDRESSES[subject % ADDRESSES.length] as (typeof ADDRESSES)[number]
    const ask = { address, policies, cost: of.cost, id, countDenied, returnAfter }
    // Its caller asks again.
    await store.take(ask, attempt()).catch(() => store.take(ask, attempt()))
  }
  for (const each of moves) {
    port.nowMicros += each.passed * 1_000
    const address = ADDRESSES[each.number % ADDRESSES.length] as (typeof ADDRESSES)[number]
    const earlier = taken[each.number % Math.max(1, taken.length)]
    switch (each.what) {
      case 'take':
      case 'reserve':
      case 'denied':
        await take(each, each.what === 'denied', each.what === 'reserve' ? each.cost * 9 : null, each.number)
        break
      case 'together':
        await Promise.all([1, 2, 3, 4].map((subject) => take(each, false, null, subject)))
        break
      case 'peek':
        await store.peek({ address, policies, cost: each.cost }, attempt())
        break
      case 'adjust':
        if (earlier !== undefined) {
          const ask = { address, policies, take: earlier.id, id: `adjust${each.number}`, at: earlier.at }
          await store.adjust({ ...ask, taken: earlier.cost, cost: each.cost % 5 }, attempt())
        }
        break
      case 'renew':
        if (earlier !== undefined) await store.renew({ address, policies, take: earlier.id }, attempt())
        break
      case 'block':
        await store.block({ address, policies, duration: each.number * 10 }, attempt())
        break
      case 'reset':
        await store.reset({ address, policies }, attempt())
        break
      case 'limits':
        policies = sets[each.number % sets.length] as readonly Policy[]
        break
      case 'twice':
        port.twice = !port.twice
        break
      case 'lose':
        port.loses = true
        await take(each, each.number % 2 === 0, null, each.number)
        break
      case 'foreign':
        await port.send(['DEL', KEYS[each.number % KEYS.length] as string])
        await port.send(['SET', KEYS[each.number % KEYS.length] as string, 'wfts', 'PX', '500'])
        break
    }
  }
  return port
}

test('random work of the limit store: the same replies, keys and expiries as a real server', async () => {
  const scriptsSeen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      policySets,
      fc.array(move, { minLength: 10, maxLength: 50, size: 'max' }),
      async (sets, moves) => {
        const { asked } = await play(sets, moves)
        await real.flush()
        const expected = await Promise.all(
          asked.map(({ command, nowMicros, replies }) =>
            Promise.all([onReal(command, nowMicros), real.contents(nowMicros, replies)]),
          ),
        )
        for (const [i, { command, reply, contents }] of asked.entries()) {
          expect([command.slice(2), reply, contents]).toEqual([command.slice(2), ...(expected[i] as Reply[])])
          if (command[0] !== 'SET' && command[0] !== 'DEL') scriptsSeen.add(command[1] as string)
        }
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
  for (const { sha1, name } of [block, count, peek, recount, renew, reset])
    expect([name, scriptsSeen.has(sha1)]).toEqual([name, true])
})

function onReal(command: readonly string[], nowMicros: number): Promise<Reply> {
  const [name, script = '', keys = '', ...rest] = command
  if (name !== 'EVALSHA' && name !== 'EVAL') return real.execute(command, nowMicros)
  const source = name === 'EVAL' ? script : (sources.get(script) as string)
  return real.run(source, rest.slice(0, Number(keys)), rest.slice(Number(keys)), nowMicros)
}
