import { createHoldfast, type Held, type Holdfast, type Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { VirtualClock } from 'holdfast/testing'
import { beforeEach, describe, expect, test } from 'vitest'

/**
 * Goal: INV-H1 to the millisecond: every promise settles within its wait and its budget, whatever the store does.
 * Method: a virtual clock, and a store that never answers, answers no, or fails in any other way.
 */

const BUDGET = 900
/** What the promises allow on top. */
const SLACK = 100

type Opened = ReturnType<Store['open']>
type Locks = Opened['locks']
type Behaviour = 'silent' | 'throws' | 'throws at once' | 'works'

let clock: VirtualClock
let behaviour: Behaviour
let hf: Holdfast
let held: Held

function behaving(inner: Store): Store {
  return {
    ...inner,
    open: (context) => {
      const opened = inner.open(context)
      const locks = new Proxy(opened.locks, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target)
          if (typeof value !== 'function') return value
          const method = value.bind(target) as (...args: unknown[]) => unknown
          if (!CALLS.has(name as keyof Locks)) return method
          return (...args: unknown[]) => {
            if (behaviour === 'works') return method(...args)
            if (behaviour === 'silent') return new Promise(() => {})
            if (behaviour === 'throws') return Promise.reject(new Error('a fault of the store'))
            throw new Error('a fault of the store')
          }
        },
      })
      return { ...opened, locks, close: () => opened.close() }
    },
  }
}

const CALLS = new Set<keyof Locks>(['acquire', 'release', 'renew', 'leave', 'inspect', 'force'])

beforeEach(async () => {
  clock = new VirtualClock()
  behaviour = 'works'
  hf = createHoldfast({ store: behaving(memoryStore()), clock, budget: BUDGET })
  held = await hf.lock('held', { ttl: '1m', renew: false }).acquire()
})

/** Milliseconds until a promise settles; it must be rejected when the store does not work. */
async function settlesAfter(promise: Promise<unknown>): Promise<number> {
  const began = clock.monotonic()
  let after: number | null = null
  promise.then(
    () => (after = clock.monotonic() - began),
    () => (after = clock.monotonic() - began),
  )
  for (let passed = 0; after === null && passed < 20_000; passed += 10) await clock.advance(10)
  return after ?? Infinity
}

const calls: readonly [string, number, () => Promise<unknown>][] = [
  ['acquire that waits 0', BUDGET, () => hf.lock('a').acquire({ wait: 0 })],
  ['acquire that waits 1 ms', 1 + BUDGET, () => hf.lock('a').acquire({ wait: 1 })],
  ['acquire that waits 250 ms', 250 + BUDGET, () => hf.lock('a').acquire({ wait: 250 })],
  ['acquire that waits 5 s', 5_000 + BUDGET, () => hf.lock('a').acquire({ wait: '5s' })],
  ['tryAcquire', BUDGET, () => hf.lock('a').tryAcquire()],
  ['run that waits 250 ms', 250 + BUDGET, () => hf.lock('a').run(() => {}, { wait: 250 })],
  ['tryRun', BUDGET, () => hf.lock('a').tryRun(() => {})],
  ['extend', BUDGET, () => held.extend('2m')],
  ['release', BUDGET, () => held.release()],
  ['inspect', BUDGET, () => hf.inspect('a')],
  ['forceRelease of an owner', BUDGET, () => hf.forceRelease('a', { owner: 'x' })],
  // One operation to read the owner, one to force.
  ['forceRelease', 2 * BUDGET, () => hf.forceRelease('a')],
  ['close', 2 * BUDGET, () => hf.close()],
]

describe.each<Behaviour>(['silent', 'throws', 'throws at once'])('a store that is %s', (how) => {
  test.each(calls)('INV-H1: %s settles within %i ms and a little', async (_, bound, run) => {
    behaviour = how
    expect(await settlesAfter(run())).toBeLessThanOrEqual(bound + SLACK)
  })
})

test('INV-H1: of twenty callers who wait for one lock of a silent store, each settles in its time', async () => {
  behaviour = 'silent'
  const began = clock.monotonic()
  const after: number[] = []
  const all = Array.from({ length: 20 }, (_, i) =>
    hf
      .lock('a')
      .acquire({ wait: i * 100 })
      .catch(() => (after[i] = clock.monotonic() - began)),
  )
  await clock.advance(20 * 100 + BUDGET + SLACK)
  await Promise.all(all)
  expect(after).toHaveLength(20)
  after.forEach((ms, i) => expect(ms).toBeLessThanOrEqual(i * 100 + BUDGET + SLACK))
})

test.each(['throws', 'throws at once'] as const)(
  'a store that %s: a holder that renews is told of its loss at its deadline',
  async (how) => {
    const renewed = await hf.lock('renewed', { ttl: 3_000 }).acquire()
    behaviour = how
    await clock.advance(3_000)
    expect(renewed.lost).not.toBeNull()
    behaviour = 'works'
    expect(await hf.inspect('renewed')).toBeNull()
  },
)
