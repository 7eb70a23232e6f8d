import { createHoldfast, type Holdfast, type Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { VirtualClock } from 'holdfast/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { settle } from '../support/settling.ts'

/**
 * Goal: "late" speaks of one copy of a request only. Another copy may have been granted, so it is no refusal.
 * Method: a store in memory, on a virtual clock, whose answers the test exchanges call by call. A real server says "late" to
 * a live call only when its clock and ours drift apart by a budget.
 */

const BUDGET = 900

type OpenedStore = ReturnType<Store['open']>
type Acquire = OpenedStore['locks']['acquire']
/** `silent`: done, and never answered. `late`: refused for its lateness. */
type Answer = 'silent' | 'late' | 'true'

let clock: VirtualClock
let hf: Holdfast
let answers: Answer[]
let owners: Set<string>

/** The store, with the next acquires answered as the test says. */
function scripted(inner: Store): Store {
  return {
    ...inner,
    open: (context) => {
      const opened = inner.open(context)
      const { locks } = opened
      const acquire: Acquire = locks.acquire.bind(locks)
      locks.acquire = async (ask, attempt) => {
        owners.add(ask.owner)
        const how = answers.shift() ?? 'true'
        if (how === 'late') {
          attempt.sent = { monotonic: clock.monotonic(), wall: clock.wall() }
          return { result: { kind: 'late' }, serverTime: clock.wall(), maybeTwice: false }
        }
        const answer = await acquire(ask, attempt)
        return how === 'silent' ? new Promise(() => {}) : answer
      }
      return opened
    },
  }
}

beforeEach(() => {
  clock = new VirtualClock()
  owners = new Set()
  hf = createHoldfast({ store: scripted(memoryStore()), clock, budget: BUDGET })
})
afterEach(async () => {
  const closed = hf.close()
  await clock.advance(2 * BUDGET)
  await closed
})

test('granted without an answer, then late: asked again, and got with the same owner', async () => {
  answers = ['silent', 'late']
  const call = settle(hf.lock('a', { ttl: '30s' }).tryAcquire())
  await clock.advance(BUDGET)
  const { value: held, error } = await call
  expect(error).toBeNull()
  expect(held?.lost).toBeNull()
  expect(owners.size).toBe(1)
  expect(await hf.inspect('a')).toMatchObject({ owner: held?.owner, fence: held?.fence })
})

test('granted without an answer, then late to the end: unknown, and what was granted is cleared away', async () => {
  answers = ['silent', ...Array.from<Answer>({ length: 100 }).fill('late')]
  const call = settle(hf.lock('a', { ttl: '30s' }).tryAcquire())
  await clock.advance(BUDGET)
  const { error } = await call
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
  await clock.advance(100)
  expect(await hf.inspect('a')).toBeNull()
})
