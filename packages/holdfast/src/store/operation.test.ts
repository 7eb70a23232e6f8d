import { stat } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { bounds } from '../defaults.ts'
import { listen, type HoldfastEvents } from '../events/channels.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import type { Attempt } from './attempt.ts'
import type { Answer } from './contract.ts'
import { StoreFailure } from './failure.ts'
import { Schedule } from '../schedule.ts'
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
  answer(result: string, maybeTwice?: boolean): void
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
        const answer = (result: string, maybeTwice = false): void =>
          resolve({ result, serverTime: 1, maybeTwice })
        tries.push({ attempt, at: clock.monotonic(), answer, fail: reject })
      }),
    ...more,
  }
  const foreground = new Schedule(clock, { keepAlive: true })
  const schedule = new Schedule(clock)
  const operation = new Operation<string>({ clock, storeKind: 'played', foreground, schedule }, plan, BUDGET)
  const seen: { outcome: Outcome<string> | null; at: number | null } = { outcome: null, at: null }
  void operation.run().then((outcome) => {
    seen.outcome = outcome
    seen.at = clock.monotonic()
  })
  return { operation, seen }
}

const nth = (n: number): Try => tries[n - 1] as Try

describe('an operation', () => {
  test('whose time ran out while the event loop was blocked first takes the answer that had arrived meanwhile', async () => {
    // The machine's own event loop: timers come before what was read.
    const context = {
      clock: systemClock,
      storeKind: 'played',
      foreground: new Schedule(systemClock, { keepAlive: true }),
      schedule: new Schedule(systemClock),
    }
    const ask = (attempt: Attempt): Promise<Answer<string>> => {
      attempt.sent = { monotonic: 0, wall: 0 }
      return new Promise((resolve) => {
        stat('.', () => resolve({ result: 'granted', serverTime: 1, maybeTwice: false }))
      })
    }
    const outcome = new Operation(context, { what: 'acquire', ask }, 30).run()
    const end = systemClock.monotonic() + 80
    while (systemClock.monotonic() < end);
    expect(await outcome).toMatchObject({ kind: 'done', answer: { result: 'granted' } })
  })
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

  test('that may be tried once only waits for that one until the end of the budget', async () => {
    const { seen } = begin({ tries: 1 })
    await clock.advance(BUDGET - 1)
    expect([tries.length, seen.outcome]).toEqual([1, null])
    nth(1).answer('granted')
    await clock.settle()
    expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'granted' }, doubtful: false })
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

  test('says of a try whether an earlier one is without an answer', async () => {
    begin()
    await clock.advance(350)
    expect(tries.map(({ attempt }) => attempt.afterSilence)).toEqual([false, true])
    nth(1).fail(failure('not-done'))
    nth(2).fail(failure('not-done'))
    await clock.advance(100)
    expect(tries.map(({ attempt }) => attempt.afterSilence)).toEqual([false, true, false])
  })

  describe('E22: with an answer that is the last word only when no other try is out', () => {
    const isWeak = (result: string): boolean => result === 'denied'

    test('takes it at once when there is no other', async () => {
      const { seen } = begin({ isWeak })
      nth(1).answer('denied')
      await clock.settle()
      expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'denied' }, doubtful: false })
      expect(clock.pendingTimers).toBe(0)
    })

    test('takes a better one that comes after it', async () => {
      const { seen } = begin({ isWeak })
      await clock.advance(350)
      nth(1).answer('denied')
      await clock.advance(300)
      expect([tries.length, seen.outcome]).toEqual([2, null])
      nth(2).answer('granted')
      await clock.settle()
      expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'granted' }, doubtful: false })
    })

    test('asks once more when the client itself may have sent it twice: what it says is left for the other copy', async () => {
      const { seen } = begin({ isWeak })
      nth(1).answer('denied', true)
      await clock.settle()
      expect([tries.length, seen.outcome]).toEqual([2, null])
      nth(2).answer('denied', true)
      await clock.settle()
      expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'denied' }, doubtful: false })
      expect([tries.length, clock.pendingTimers]).toEqual([2, 0])
    })

    test.each([
      ['fails', () => nth(2).fail(failure('unknown'))],
      ['stays silent', () => undefined],
    ])('takes it when that %s, within the time of a try', async (_, then) => {
      const { seen } = begin({ isWeak })
      nth(1).answer('denied', true)
      await clock.settle()
      then()
      await clock.advance(BUDGET / bounds.triesPerBudget)
      expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'denied' }, doubtful: true })
      expect([tries.length, clock.pendingTimers]).toEqual([2, 0])
    })

    test('takes it when the other try has failed', async () => {
      const { seen } = begin({ isWeak })
      await clock.advance(350)
      nth(1).answer('denied')
      nth(2).fail(failure('unknown'))
      await clock.settle()
      expect(seen.outcome).toMatchObject({ kind: 'done', answer: { result: 'denied' }, doubtful: true })
      expect(clock.pendingTimers).toBe(0)
    })

    test('INV-H1: takes it at the end of the budget when the other try stays silent, with a doubt', async () => {
      const { seen } = begin({ isWeak })
      await clock.advance(350)
      nth(2).answer('denied')
      await clock.advance(BUDGET - 351)
      expect(seen.outcome).toBeNull()
      await clock.advance(1)
      expect(seen).toMatchObject({ at: BUDGET, outcome: { kind: 'done', doubtful: true } })
      expect([tries.length, clock.pendingTimers]).toEqual([2, 0])
    })
  })
})
