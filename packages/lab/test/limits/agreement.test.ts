import fc from 'fast-check'
import { systemClock, systemRandomness } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limitAddress } from '../../../holdfast/src/name.ts'
import { Attempt } from '../../../holdfast/src/store/attempt.ts'
import type { Policy, PolicyKind } from '../../../holdfast/src/store/limit/policy.ts'
import * as subjects from '../../../holdfast/src/store/limit/subject.ts'
import { usageSuffix } from '../../../holdfast/src/stores/redis/limit-rules.ts'
import { RedisLimitStore } from '../../../holdfast/src/stores/redis/limit-store.ts'
import { ServerLink } from '../../../holdfast/src/stores/redis/link.ts'
import { startRedis, type RedisServer, type RespConnection } from '../../src/index.ts'
import { ClockedPort } from './clocked-port.ts'

/**
 * Goal: the scripts decide as the pure algorithms do, to the last unit and the last millisecond.
 * Method: random traces (costs, clocks that also step back, limits that change, adjustments, blocks, reservations) are fed
 * to both; every verdict, every key and every expiry must be the same. The scripts read a clock that the test sets.
 */

/** Later than the machine's clock, so that the server itself lets nothing expire. */
const START = 1_900_000_000_000

/** Traces of each kind; more of them by hand. */
const RUNS = Number(process.env['HOLDFAST_AGREEMENT_RUNS'] ?? 60)
/** So that the search for the smallest trace that fails ends before the test's own time, and tells what it found. */
const MOST_MS = RUNS * 500

let server: RedisServer
let connection: RespConnection
let port: ClockedPort
let store: RedisLimitStore
let runs = 0
let ids = 0

beforeAll(async () => {
  server = await startRedis()
  connection = await server.connect()
  port = await ClockedPort.open(connection)
  store = new RedisLimitStore(new ServerLink(port, systemClock), {
    clock: systemClock,
    randomness: systemRandomness,
  })
})
afterAll(async () => {
  connection.close()
  await server.stop()
})

type Step =
  | {
      readonly do: 'take'
      readonly cost: number
      readonly denied: boolean
      readonly returnAfter: number | null
    }
  | { readonly do: 'peek'; readonly cost: number }
  | { readonly do: 'adjust'; readonly which: number; readonly cost: number }
  | { readonly do: 'renew'; readonly which: number }
  | { readonly do: 'block'; readonly duration: number }
  | { readonly do: 'reset' }
  | { readonly do: 'limits'; readonly which: number }

interface Move {
  readonly passes: number
  readonly step: Step
}

interface Taken {
  readonly id: string
  readonly at: number
  cost: number
}

/** Runs one trace over both. */
async function compare(policySets: readonly (readonly Policy[])[], moves: readonly Move[]): Promise<void> {
  const address = limitAddress('agree:v1', `run${(runs += 1)}`, 'subject')
  const names = new Map(policySets.flat().map((policy) => [usageSuffix(policy), policy]))
  let policies = policySets[0] ?? []
  let pure: subjects.Subject | null = null
  let now = START + 123

  const taken: Taken[] = []
  const attempt = () => {
    const time = systemClock.monotonic()
    return new Attempt(time + 10_000, time + 1e12)
  }
  for (const { passes, step } of moves) {
    now += passes
    await port.setTime(now)
    pure = await forgetExpired(pure, address.key, names.keys(), now)
    switch (step.do) {
      case 'limits':
        policies = policySets[step.which % policySets.length] ?? policies
        break
      case 'take': {
        const id = `take${String((ids += 1)).padStart(18, '0')}`
        const { cost, denied: countDenied, returnAfter } = step
        const ask = { address, policies, cost, id, countDenied, returnAfter }
        const expected = subjects.take(pure, ask, now)
        pure = expected.subject
        const { result } = await store.take(ask, attempt())
        expect(result).toEqual({ kind: 'decided', ...expected.result })
        if (expected.result.allowed) taken.push({ id, at: now, cost })
        break
      }
      case 'peek': {
        const ask = { address, policies, cost: step.cost }
        expect((await store.peek(ask, attempt())).result).toEqual(subjects.peek(pure, ask, now))
        break
      }
      case 'adjust': {
        const take = taken[taken.length - 1 - (step.which % Math.max(1, taken.length))]
        // A take that was given back as a whole is not adjusted again by a limiter.
        if (take === undefined || take.cost === 0) break
        const ask = {
          address,
          policies,
          take: take.id,
          id: `adjust${(ids += 1)}`,
          at: take.at,
          taken: take.cost,
          cost: step.cost,
        }
        const expected = subjects.adjust(pure, ask, now)
        pure = expected.subject
        const { result } = await store.adjust(ask, attempt())
        expect(result).toEqual({ kind: 'done', adjusted: expected.result })
        take.cost = step.cost
        break
      }
      case 'renew': {
        const take = taken[taken.length - 1 - (step.which % Math.max(1, taken.length))]
        if (take === undefined) break
        const expected = subjects.renew(pure, { policies, take: take.id }, now)
        pure = expected.subject
        const { result } = await store.renew({ address, policies, take: take.id }, attempt())
        expect(result).toEqual({ kind: expected.result ? 'renewed' : 'missing' })
        break
      }
      case 'block':
        pure = subjects.block(pure, { duration: step.duration }, now)
        await store.block({ address, policies, duration: step.duration }, attempt())
        break
      case 'reset':
        pure = subjects.reset(pure, now)
        await store.reset({ address, policies }, attempt())
        break
    }
    await expectSameKeys(pure, address.key, names.keys())
  }
}

const expiryOf = async (key: string) => (await connection.call('PEXPIRETIME', key)) as number

/** The server's clock is not the test's: what would have expired is deleted, on both sides. */
async function forgetExpired(
  subject: subjects.Subject | null,
  key: string,
  suffixes: Iterable<string>,
  now: number,
): Promise<subjects.Subject | null> {
  const usages = (subject?.usages ?? []).filter(({ expires }) => expires > now)
  const names = new Set(usages.map(({ name }) => `:${name}`))
  for (const suffix of suffixes) if (!names.has(suffix)) await connection.call('DEL', key + suffix)
  if (subject === null) return null
  if (sideExpiry(subject) > now) {
    if (subject.block === null || subject.block.until > now) return { ...subject, usages }
    // The key stays for the reservations; the block in it is over, also when the clock is set back.
    await connection.call('SETRANGE', key, 1, '\0'.repeat(11))
    return { ...subject, usages, block: null }
  }
  await connection.call('DEL', key)
  return { usages, block: null, reservations: [] }
}

const sideExpiry = ({ block, reservations }: subjects.Subject): number =>
  Math.max(block?.until ?? 0, ...reservations.map(({ forget }) => forget))

/** Every key must be there as long as it counts, and no longer. */
async function expectSameKeys(
  subject: subjects.Subject | null,
  key: string,
  suffixes: Iterable<string>,
): Promise<void> {
  const expected = new Map((subject?.usages ?? []).map(({ name, expires }) => [`${key}:${name}`, expires]))
  const side = subject === null ? 0 : sideExpiry(subject)
  if (side > 0) expected.set(key, side)
  const found = new Map<string, number>()
  for (const each of [key, ...[...suffixes].map((suffix) => key + suffix)]) {
    const expiry = await expiryOf(each)
    // A key goes a millisecond before what it says is over, if it has as long.
    if (expiry !== -2) found.set(each, expiry + 1 === expected.get(each) ? expiry + 1 : expiry)
  }
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
}

const passes = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 600 }) },
  { weight: 1, arbitrary: fc.integer({ min: -700, max: 2_500 }) },
)
const cost = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(65_535, 70_000, 2 ** 31 - 1) },
)
const which = fc.nat(6)
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      cost,
      denied: fc.boolean(),
      returnAfter: fc.oneof(
        { weight: 6, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 800 }) },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('peek' as const), cost }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('adjust' as const), which, cost: fc.oneof(fc.constant(0), cost) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('renew' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limits' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('block' as const), duration: fc.constantFrom(0, 1, 50, 400) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const) }) },
)
const moves = fc.array(fc.record({ passes, step: anyStep }), { minLength: 1, maxLength: 40 })

const per = fc.constantFrom(1, 7, 100, 500, 1_000, 1_900)
const limit = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(20, 130, 400, 100_000))
const named = (name: string): Record<PolicyKind, fc.Arbitrary<Policy>> => ({
  'fixed-window': fc.record({
    kind: fc.constant('fixed-window' as const),
    name: fc.constant(name),
    limit,
    per,
  }),
  'sliding-window': fc.record({
    kind: fc.constant('sliding-window' as const),
    name: fc.constant(name),
    limit,
    per,
  }),
  'sliding-counter': fc.record({
    kind: fc.constant('sliding-counter' as const),
    name: fc.constant(name),
    limit,
    per,
  }),
  'token-bucket': fc.record({
    kind: fc.constant('token-bucket' as const),
    name: fc.constant(name),
    capacity: limit,
    refill: limit,
    per,
  }),
  'leaky-bucket': fc.record({
    kind: fc.constant('leaky-bucket' as const),
    name: fc.constant(name),
    capacity: limit,
    rate: limit,
    per,
  }),
  concurrency: fc.record({
    kind: fc.constant('concurrency' as const),
    name: fc.constant(name),
    limit,
    lease: per,
  }),
})
const kinds = Object.keys(named('')) as PolicyKind[]

describe('the scripts agree with the pure algorithms', () => {
  test.each(kinds)('%s, while its limits change', async (kind) => {
    const sets = fc
      .array(named('only')[kind], { minLength: 1, maxLength: 3 })
      .map((all) => all.map((one) => [one]))
    await fc.assert(fc.asyncProperty(sets, moves, compare), {
      numRuns: RUNS,
      interruptAfterTimeLimit: MOST_MS,
    })
  })

  test.each([
    ['small', 100, 50],
    ['large', 200, 100],
  ])(
    'sliding-window: a hit exactly one window old counts no longer, in a %s ring',
    async (_size, limit, per) => {
      const policy: Policy = { kind: 'sliding-window', name: 'only', limit, per }
      const step: Step = { do: 'take', cost: 2, denied: false, returnAfter: null }
      // Full with the hit before the window is over; from then on one leaves in each millisecond, and one comes.
      const everyMillisecond = Array.from({ length: 2 * per }, () => ({ passes: 1, step }))
      await compare(
        [[policy]],
        [...everyMillisecond, { passes: 0, step }, { passes: per, step: { do: 'peek', cost: limit } }],
      )
    },
  )

  test('leaky-bucket: a reservation that the clock, set back, has moved is given back as made then', async () => {
    const policy: Policy = { kind: 'leaky-bucket', name: 'only', capacity: 2, rate: 8, per: 1_000 }
    const take = (returnAfter: number | null): Step => ({ do: 'take', cost: 1, denied: false, returnAfter })
    await compare(
      [[policy]],
      [
        { passes: 0, step: take(126) },
        // By then the bucket is empty, and only the reservation is left.
        { passes: 125, step: { do: 'peek', cost: 1 } },
        { passes: -126, step: take(null) },
        { passes: 0, step: take(null) },
        { passes: 1, step: { do: 'adjust', which: 2, cost: 0 } },
      ],
    )
  })

  test('several at once, all or nothing', async () => {
    const any = (name: string) => fc.oneof(...kinds.map((kind) => named(name)[kind]))
    const sets = fc.array(fc.tuple(any('a'), any('b'), any('c')), { minLength: 1, maxLength: 2 })
    await fc.assert(fc.asyncProperty(sets, moves, compare), {
      numRuns: RUNS,
      interruptAfterTimeLimit: MOST_MS,
    })
  })

  test('sliding-window, in long traces over rings that grow, wrap and widen', async () => {
    const limits = fc.constantFrom(3, 40, 128, 129, 200, 1_000)
    const spans = fc.constantFrom(60, 400, 3_000)
    const policy = fc.record({
      kind: fc.constant('sliding-window' as const),
      name: fc.constant('only'),
      limit: limits,
      per: spans,
    })
    const sets = fc.array(policy, { minLength: 1, maxLength: 2 }).map((all) => all.map((one) => [one]))
    const step: fc.Arbitrary<Step> = fc.oneof(
      {
        weight: 30,
        arbitrary: fc.record({
          do: fc.constant('take' as const),
          cost: fc.oneof(
            { weight: 9, arbitrary: fc.constant(1) },
            { weight: 1, arbitrary: fc.nat(150).map((n) => n + 1) },
          ),
          denied: fc.boolean(),
          returnAfter: fc.oneof(
            { weight: 20, arbitrary: fc.constant(null) },
            { weight: 1, arbitrary: fc.constant(30) },
          ),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('peek' as const), cost }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('adjust' as const),
          which: fc.nat(60),
          cost: fc.oneof(fc.constant(0), fc.constant(2), fc.constant(70_000)),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('limits' as const), which }) },
    )
    const passing = fc.oneof(
      { weight: 30, arbitrary: fc.integer({ min: 0, max: 4 }) },
      { weight: 1, arbitrary: fc.integer({ min: -40, max: 300 }) },
    )
    const long = fc.array(fc.record({ passes: passing, step }), {
      minLength: 100,
      maxLength: 300,
      size: 'max',
    })
    await fc.assert(fc.asyncProperty(sets, long, compare), {
      numRuns: RUNS / 6,
      interruptAfterTimeLimit: MOST_MS,
    })
  })
})
