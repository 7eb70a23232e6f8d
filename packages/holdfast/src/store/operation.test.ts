import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bounds } from '../defaults.ts'
import { listen, type HoldfastEvents } from '../events/channels.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import type { Attempt } from './attempt.ts'
import type { Answer } from './contract.ts'
import { StoreFailure } from './failure.ts'
import { Operation, type OperationPlan, type Outcome } from './operation.ts'

/**
 * Goal: an operation ends within its budget with a true outcome, whatever the store does.
 * Method: a store of which the test plays every answer, under the virtual clock.
 */

const BUDGET = 900

/** One try as the store sees it: the test answers it, or does not. */
interface Try {
  readonly attempt: Attempt
  readonly at: number
  answer(result: string): void
  fail(error: unknown): void
}

let clock: VirtualClock
let tries: Try[]
let told: HoldfastEvents['holdfast:store:error'][]
let stopListening: () => void

beforeEach(() => {
  clock = new VirtualClock({ monotonic: 0 })
  tries = []
  told = []
  stopListening = listen('holdfast:store:error', (event) => told.push(event))
})

afterEach(() => stopListening())

const failure = (outcome: 'not-done' | 'unknown', final = false): StoreFailure =>
  new StoreFailure('it failed', {
    kind: outcome === 'unknown' ? 'unreachable' : 'refused',
    outcome,
    final,
    reason: outcome === 'unknown' ? 'connection' : 'LOADING',
  })

/** Starts an operation whose tries are sent at once, unless `sends` says otherwise. */
function begin(more: Partial<OperationPlan<string>> = {}, sends = true) {
  const plan: OperationPlan<string> = {
    what: 'acquire',
    ask: (attempt) =>
      new Promise<Answer<string>>((resolve, reject) => {
        if (sends) attempt.sent = { monotonic: clock.monotonic(), wall: clock.wall() }
        const answer = (result: string): void => resolve({ result, serverTime: 1, maybeTwice: false })
        tries.push({ attempt, at: clock.monotonic(), answer, fail: reject })
      }),
    ...more,
  }
  const operation = new Operation<string>({ clock, storeKind: 'played' }, plan, BUDGET)
  const seen: { outcome: Outcome<string> | null; at: number | null } = { outcome: null, at: null }
  void operation.run().then((outcome) => {
    seen.outcome = outcome
    seen.at = clock.monotonic()
  })
  return { operation, seen }
}

const nth = (n: number): Try => tries[n - 1] as Try

describe('an operation', () => {
  test('ends with the answer of its only try, and sets nothing going any more', async () => {
    const { seen } = begin()
    nth(1).answer('granted')
    await clock.settle()
    expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'granted' } })
    expect(tries).toHaveLength(1)
    expect(seen.outcome).toHaveProperty('attempt', nth(1).attempt)
    expect(clock.pendingTimers).toBe(0)
    expect(told).toEqual([])
  })

  test('INV-H1: a silent store is asked three times, and the end is unknown exactly at the end of the budget', async () => {
    const { seen } = begin()
    await clock.advance(BUDGET - 1)
    expect(tries.map(({ at }) => at)).toEqual([0, 300, 600])
    expect(seen.outcome).toBeNull()
    await clock.advance(1)
    expect(seen).toMatchObject({ at: BUDGET, outcome: { kind: 'unknown', failure: { reason: 'silent' } } })
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(10 * BUDGET)
    expect(tries).toHaveLength(3)
    expect(told).toEqual([{ store: 'played', operation: 'acquire', reason: 'silent', outcome: 'unknown' }])
  })

  test('takes the answer to any of its tries, also to one that it had given up', async () => {
    const { seen } = begin()
    await clock.advance(350)
    nth(1).answer('late but true')
    await clock.settle()
    expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'late but true' } })
    expect(tries).toHaveLength(2)
    nth(2).answer('of no use')
    await clock.settle()
    expect(seen.outcome).toMatchObject({ answer: { result: 'late but true' } })
  })

  test('is asked again shortly after a failure that may pass, and at once the end after one that will not', async () => {
    const { seen } = begin()
    nth(1).fail(failure('not-done'))
    await clock.advance(bounds.pauseBetweenTries)
    expect(tries.map(({ at }) => at)).toEqual([0, bounds.pauseBetweenTries])
    nth(2).fail(failure('not-done', true))
    await clock.settle()
    expect(seen).toMatchObject({ at: bounds.pauseBetweenTries, outcome: { kind: 'refused' } })
    expect(told.map(({ reason }) => reason)).toEqual(['LOADING', 'LOADING'])
  })

  test('D13: refused by every try it is refused, not unknown', async () => {
    const { seen } = begin()
    for (let at = 0; at < BUDGET; at += bounds.pauseBetweenTries) {
      tries.at(-1)?.fail(failure('not-done'))
      await clock.advance(bounds.pauseBetweenTries)
    }
    // Not one that could not be answered within the budget.
    const at = BUDGET - bounds.pauseBetweenTries
    expect(seen).toMatchObject({ at, outcome: { kind: 'refused', failure: { reason: 'LOADING' } } })
    expect(tries).toHaveLength(BUDGET / bounds.pauseBetweenTries)
  })

  test('with one unanswered or unclear try it is unknown, whatever the others said', async () => {
    const unclear = begin()
    nth(1).fail(failure('unknown'))
    await clock.advance(bounds.pauseBetweenTries)
    nth(2).fail(failure('not-done', true))
    await clock.settle()
    expect(unclear.seen.outcome).toMatchObject({ kind: 'unknown', failure: { reason: 'LOADING' } })
    tries = []
    const unanswered = begin()
    await clock.advance(BUDGET / 3)
    nth(2).fail(failure('not-done', true))
    await clock.settle()
    expect(unanswered.seen.outcome).toMatchObject({ kind: 'unknown' })
  })

  test('what was never sent was not done', async () => {
    const waiting = begin({}, false)
    await clock.advance(BUDGET)
    expect(waiting.seen.outcome).toMatchObject({ kind: 'refused' })
    tries = []
    const first = begin()
    nth(1).fail(failure('not-done'))
    await clock.advance(bounds.pauseBetweenTries)
    nth(2).attempt.sent = null
    await clock.advance(BUDGET)
    for (const { attempt } of tries.slice(1)) attempt.sent = null
    expect(first.seen.outcome?.kind).toBeDefined()
  })

  test('does not ask again while another try may still answer: its silence decides', async () => {
    begin()
    await clock.advance(300)
    nth(1).fail(failure('unknown'))
    await clock.advance(299)
    expect(tries).toHaveLength(2)
    await clock.advance(1)
    expect(tries).toHaveLength(3)
  })

  test('"late" speaks of one copy: it is asked again with a fresh time, and is never an answer', async () => {
    const { seen } = begin({ isLate: (result) => result === 'late' })
    await clock.advance(100)
    nth(1).answer('late')
    await clock.advance(10)
    expect(tries).toHaveLength(2)
    expect(nth(2).attempt.validUntil).toBeGreaterThan(nth(1).attempt.validUntil)
    nth(2).answer('granted')
    await clock.settle()
    expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'granted' } })
  })

  test('late to the end is unknown', async () => {
    const { seen } = begin({
      isLate: () => true,
      ask: async (attempt) => {
        attempt.sent = { monotonic: clock.monotonic(), wall: clock.wall() }
        await new Promise<void>((resolve) => clock.setTimer(resolve, 50))
        return { result: 'late', serverTime: 1, maybeTwice: false }
      },
    })
    await clock.advance(BUDGET)
    expect(seen.outcome).toMatchObject({ kind: 'unknown', failure: { reason: 'late', outcome: 'unknown' } })
  })

  test('a try is valid for a budget, and never beyond the time that was given', async () => {
    begin({ validUntil: 700 })
    await clock.advance(600)
    expect(tries.map(({ attempt }) => attempt.validUntil)).toEqual([700, 700, 700])
    expect(tries.map(({ attempt }) => attempt.until)).toEqual([BUDGET, BUDGET, BUDGET])
    tries = []
    begin()
    expect(nth(1).attempt.validUntil).toBe(clock.monotonic() + BUDGET)
  })

  test('A7: abandoned it sends nothing any more, sets no timer, and says nothing', async () => {
    const { operation, seen } = begin()
    operation.abandon()
    expect(nth(1).attempt.abandoned).toBe(true)
    expect(clock.pendingTimers).toBe(0)
    nth(1).fail(failure('not-done'))
    await clock.advance(BUDGET)
    expect(tries).toHaveLength(1)
    expect(seen.outcome).toBeNull()
    expect(operation.attempts).toHaveLength(1)
  })

  test('D15: keeps the process alive only where it is said to', async () => {
    begin({ background: true })
    expect([clock.pendingTimers, clock.keepAliveTimers]).toEqual([1, 0])
    begin({ background: false })
    expect([clock.pendingTimers, clock.keepAliveTimers]).toEqual([2, 1])
  })

  test('a store that throws what is no failure of a store has a fault: the end is unknown, and it is not asked again', async () => {
    const { seen } = begin()
    nth(1).fail(new TypeError('x is not a function'))
    await clock.settle()
    expect(seen.outcome).toMatchObject({
      kind: 'unknown',
      failure: { reason: 'fault', final: true, message: 'x is not a function' },
    })
    expect(tries).toHaveLength(1)
  })
})
