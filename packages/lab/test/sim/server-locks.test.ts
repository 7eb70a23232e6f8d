import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import acquire from '../../../holdfast/src/stores/redis/lua/acquire.lua'
import force from '../../../holdfast/src/stores/redis/lua/force.lua'
import inspect from '../../../holdfast/src/stores/redis/lua/inspect.lua'
import leave from '../../../holdfast/src/stores/redis/lua/leave.lua'
import release from '../../../holdfast/src/stores/redis/lua/release.lua'
import renew from '../../../holdfast/src/stores/redis/lua/renew.lua'
import { ScriptCache } from '../../src/sim/server/lua/script-cache.ts'
import { ModelServer } from '../../src/sim/server/model-server.ts'
import { ClockedRedis, CONTENTS } from './server-clocked.ts'

/**
 * Goal: the lock scripts do in the model what they do in Redis, on every path.
 * Method: random calls of all lock scripts over two locks, mixed with what others may do to their keys, under a clock that also
 * steps back, are fed to both; every reply and, after each, all keys must be the same.
 */

const FENCE = 'p:fence'
const NAMES = ['a', 'b'] as const
type Name = (typeof NAMES)[number]
const lockKey = (name: Name) => `p:{${name}}:lock`
const queueKey = (name: Name) => `p:{${name}}:queue`
const KEYS = [FENCE, ...NAMES.flatMap((name) => [lockKey(name), queueKey(name)])]

const PROCESSES = ['process-number1', 'process-number2', 'process-number3'].map((name) => name.slice(-14))
const TAIL = '@host:1'
const RETENTION = '5000'
/** In the real server's future. */
const START = 1_900_000_000_000_000

type Step = (model: ModelServer, now: number) => Asked
/** What is asked: a script with its keys and arguments, or one command. */
interface Asked {
  readonly script: { readonly name: string; readonly source: string } | null
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

const scripts = new ScriptCache()
let real: ClockedRedis

beforeAll(async () => {
  real = await ClockedRedis.start(KEYS)
})
afterAll(() => real.stop())

const process = fc.constantFrom(...PROCESSES)
const name = fc.constantFrom(...NAMES)
const names = fc.oneof(
  name.map((one) => [one]),
  fc.array(name, { minLength: 1, maxLength: 3 }),
)
/** Owners of few ids, so that they meet. */
const id = fc.tuple(process, fc.nat(2)).map(([one, n]) => `${one}caller-${n}`)
const ttl = fc.constantFrom('10', '200', '30000')
const manners = fc.constantFrom('', '', '', 'j', 'j', 'j', 's', 'js', 'y', 'jsy', '1', 'js2', 'jy40')
const extra = fc.constantFrom('', '+50', '+50;trace=abc', ';trace=x#1', ';trace=é')
const late = fc.constantFrom(-1_000, -40, -1, 0, 1, 1_000)

const millis = (nowMicros: number, more: number) => String(Math.floor(nowMicros / 1_000) + more)
const pairs = (of: readonly Name[]) => of.flatMap((each) => [lockKey(each), queueKey(each)])

const acquires = fc
  .record({ names, id: fc.array(id, { minLength: 3, maxLength: 3 }), process, ttl, manners, late })
  .chain((asked) =>
    fc
      .option(fc.array(extra, { minLength: asked.names.length, maxLength: asked.names.length }))
      .map((extras): Step => {
        const ids = asked.id.slice(0, asked.names.length).join('')
        return (_, now) => ({
          script: acquire,
          keys: [FENCE, ...pairs(asked.names)],
          args: [
            'call',
            asked.process,
            RETENTION,
            asked.ttl,
            asked.manners,
            TAIL,
            millis(now, asked.late),
            ids,
            ...(extras === null ? [] : [JSON.stringify(extras)]),
          ],
        })
      }),
  )

/** The value of a lock as it stands, to ask for what is there. */
const valueOf = (model: ModelServer, of: Name, now: number): string => {
  const value = model.value(lockKey(of), now)
  return typeof value === 'string' ? value : ''
}

const releases = fc
  .record({ names, id: fc.array(id, { minLength: 3, maxLength: 3 }), process, ours: fc.boolean() })
  .map((asked): Step => {
    return (model, now) => {
      const ids = asked.names.map((of, i) =>
        asked.ours
          ? (/^[ -~]{22}/.exec(valueOf(model, of, now))?.[0] ?? 'x'.repeat(22))
          : (asked.id[i] as string),
      )
      return {
        script: release,
        keys: pairs(asked.names),
        args: ['call', asked.process, 'p:wake:', TAIL, ids.join('')],
      }
    }
  })

const renewals = fc
  .record({ names, ttl, late, ours: fc.boolean(), more: fc.constantFrom('', '+50') })
  .map((asked): Step => {
    return (model, now) => {
      const items = asked.names.map((of) => {
        const [owner = '', fence = ''] = valueOf(model, of, now).split('#')
        const known = asked.ours && /^\d+/.exec(fence)?.[0]
        return `${/^[ -~]{22}/.exec(owner)?.[0] ?? 'x'.repeat(22)}#${known || '17'}${asked.more}`
      })
      return {
        script: renew,
        keys: asked.names.map(lockKey),
        args: ['call', asked.ttl, TAIL, millis(now, asked.late), ...items],
      }
    }
  })

const leaves = fc.record({ names, process }).map((asked): Step => () => ({
  script: leave,
  keys: pairs(asked.names),
  args: ['call', asked.process, 'p:wake:'],
}))

const forces = fc.record({ names, process, ours: fc.boolean() }).map((asked): Step => (model, now) => ({
  script: force,
  keys: [FENCE, ...pairs(asked.names)],
  args: [
    'call',
    asked.process,
    'p:wake:',
    RETENTION,
    ...asked.names.map((of) => (asked.ours ? (valueOf(model, of, now).split('#')[0] ?? '') : 'nobody')),
  ],
}))

const inspections = names.map((of): Step => () => ({ script: inspect, keys: pairs(of), args: ['call'] }))

/** What others do: by hand, by mistake, by eviction. */
const foreign = fc
  .oneof(
    fc.tuple(
      fc.constant('SET'),
      fc.constantFrom(...KEYS),
      fc.constantFrom('', 'x', 'nan', '-5', 'é#1', `${'o'.repeat(22)}@h:2#12`, `${'o'.repeat(22)}@h:2#1+3;t`),
      fc.constantFrom([], ['PX', '300']),
    ),
    fc.tuple(
      fc.constant('SET'),
      fc.constant(FENCE),
      fc.constantFrom('9007199254740991', '9007199254740000', '1900000000900000', '12e3', ' 7'),
    ),
    fc.tuple(fc.constantFrom('DEL', 'DEL', 'PERSIST', 'TYPE', 'PTTL'), fc.constantFrom(...KEYS)),
    fc.tuple(fc.constant('DEL'), fc.constant(FENCE)),
    fc.tuple(fc.constant('RPUSH'), fc.constantFrom(...KEYS), fc.constant('x')),
    fc.tuple(
      fc.constant('ZADD'),
      fc.constantFrom(...NAMES.map(queueKey)),
      fc.constantFrom('1', '1900000000500', '-3800000000001', '-3800000009000', '1.5'),
      fc.constantFrom('stranger', 'beat:stranger', ...PROCESSES),
    ),
  )
  .map((words): Step => () => ({ script: null, keys: [], args: words.flat() }))

const step = fc.oneof(
  { weight: 8, arbitrary: acquires },
  { weight: 6, arbitrary: releases },
  { weight: 3, arbitrary: renewals },
  { weight: 2, arbitrary: leaves },
  { weight: 3, arbitrary: forces },
  { weight: 2, arbitrary: inspections },
  { weight: 2, arbitrary: foreign },
)
/** Steps of the clock in microseconds. */
const passing = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 300_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(1_999_000, 2_000_000, 6_000_000, 6_001_000, 31_000_000) },
  { weight: 1, arbitrary: fc.integer({ min: -3_000_000, max: -1 }) },
)

const contentsOf = (model: ModelServer, now: number) =>
  model.execute(['EVAL', CONTENTS, String(KEYS.length), ...KEYS], now)

test('random calls of the lock scripts: the same replies, keys and expiries as a real server', async () => {
  const trace = fc.array(fc.tuple(passing, step), { minLength: 20, maxLength: 60, size: 'max' })
  const kinds = new Map<string, number>()
  let woken = 0
  const property = fc.asyncProperty(trace, async (moves) => {
    const model = new ModelServer({ scripts })
    const published: string[] = []
    model.onPublish = (channel, message) => void published.push(`${channel} ${message}`)
    let now = START
    const seen = moves.map(([passed, ask]) => {
      now += passed
      const asked = ask(model, now)
      const { script, keys, args } = asked
      const command = script === null ? args : ['EVAL', script.source, String(keys.length), ...keys, ...args]
      const reply = model.execute(command, now)
      return { asked, now, reply, contents: contentsOf(model, now) }
    })
    await real.flush()
    const expected = await Promise.all(
      seen.map(async ({ asked: { script, keys, args }, now: at }) => {
        const reply = script === null ? real.execute(args, at) : real.run(script.source, keys, args, at)
        return Promise.all([reply, real.contents(at)])
      }),
    )
    expect(published).toEqual(await real.published())
    woken += published.length
    for (const [i, { asked, reply, contents }] of seen.entries()) {
      const what = [asked.script?.name, asked.keys, asked.args]
      expect([what, reply, contents]).toEqual([what, ...(expected[i] as unknown[])])
      for (const kind of kindsOf(asked, reply)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
  })
  const missing = () => ANSWERS.filter((kind) => !kinds.has(kind))
  // Until every kind of answer came up: some are rare.
  for (let round = 0; round === 0 || (round < MOST_ROUNDS && missing().length > 0); round++)
    await fc.assert(property, { numRuns: 50, endOnFailure: true })
  expect(missing()).toEqual([])
  expect(woken).toBeGreaterThan(0)
})

const MOST_ROUNDS = 4
const ANSWERS = [
  ...['all', 'granted', 'mine', 'busy', 'turn', 'late', 'error'].map((kind) => `acquire ${kind}`),
  ...['all', 'released', 'woken', 'missing', 'other', 'error'].map((kind) => `release ${kind}`),
  ...['all', 'renewed', 'missing', 'other', 'late', 'error'].map((kind) => `renew ${kind}`),
  ...['forced', 'missing', 'other', 'error'].map((kind) => `force ${kind}`),
  ...['held', 'missing', 'error'].map((kind) => `inspect ${kind}`),
  ...['left', 'error'].map((kind) => `leave ${kind}`),
]

/** As in `acquire busy`. */
function kindsOf({ script }: Asked, reply: unknown): string[] {
  if (script === null || !Array.isArray(reply)) return []
  return reply
    .slice(2)
    .map((item: unknown) => `${script.name} ${String(Array.isArray(item) ? item[0] : item)}`)
}
