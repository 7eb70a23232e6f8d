import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OutcomeUnknownError, StoreRefusedError, StoreUnavailableError } from '../errors.ts'
import { OnceBench } from '../testing/once-bench.ts'
import type { IdempotentRun } from './execution.ts'
import type { Idempotency } from './idempotency.ts'
import type { IdempotencyOptions } from './options.ts'

/**
 * Goal: runners die, pause and lose their keys, and stores stop answering: the effect is not made twice where that was not
 * chosen, nothing hangs, and nobody is told what is not true.
 * Method: trouble between the first process and a store in memory, under a virtual clock; the second process has none.
 */

const ask = { key: 'order-1', scope: 'user-1' }
const LEASE = 3_000

let bench: OnceBench

beforeEach(() => {
  bench = new OnceBench()
})
afterEach(() => bench.close())

function both(options?: IdempotencyOptions): [Idempotency, Idempotency] {
  const all = { lease: LEASE, ...options }
  return [bench.hf.idempotency('payments', all), bench.other.idempotency('payments', all)]
}

const never = (): never => {
  throw new Error('it must not run')
}

async function rejection(promise: Promise<unknown>, ms = 0): Promise<unknown> {
  const caught = promise.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  )
  if (ms > 0) await bench.clock.advance(ms)
  return caught
}

/** A run in the first process that is cut off from the store: its lease ends, its work goes on until `end` is called. */
async function cutOff(idempotency: Idempotency) {
  let end!: (value: string) => void
  const done = new Promise<string>((resolve) => (end = resolve))
  let run: IdempotentRun | null = null
  const outcome = idempotency.run(ask, undefined, (given) => {
    run = given
    return done
  })
  const settled = outcome.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  )
  await bench.clock.settle()
  bench.trouble('unsent')
  await bench.clock.advance(LEASE + 100)
  return { run: run as unknown as IdempotentRun, end, settled }
}

/** A claim of the first process that was made and never answered, and for so long could not be given back. */
async function claimLeftBehind(idempotency: Idempotency, ms: number): Promise<unknown> {
  bench.trouble('unanswered', 'claim')
  bench.trouble('swallowed', 'free')
  return rejection(idempotency.run(ask, undefined, never), ms)
}

describe('a runner that died', () => {
  test('F6: "outcome unknown" to everybody until it is settled: by a value', async () => {
    const [one, two] = both()
    await cutOff(one)
    for (let i = 0; i < 3; i += 1) {
      const error = await rejection(two.run(ask, { wait: '1m' }, never))
      expect(error).toBeInstanceOf(OutcomeUnknownError)
      expect(error).toMatchObject({ reason: 'abandoned', outcome: 'unknown', retryable: false })
      await bench.clock.advance(3_600_000)
    }
    expect(await two.inspect(ask)).toMatchObject({ state: 'abandoned', attempt: 1, leaseLeft: 0 })
    expect(await two.settle(ask, { value: 'paid' })).toEqual({ settled: true })
    expect(await two.run(ask, undefined, never)).toEqual({ value: 'paid', replayed: true })
    expect(await two.settle(ask, { retry: true })).toEqual({ settled: false, reason: 'done' })
  })

  test('F6: or by another run, which is told that it is not the first', async () => {
    const [one, two] = both()
    await cutOff(one)
    expect(await two.settle(ask, { retry: true })).toEqual({ settled: true })
    expect(await two.inspect(ask)).toMatchObject({ state: 'open' })
    const attempts: number[] = []
    await two.run(ask, undefined, ({ attempt }) => attempts.push(attempt))
    expect(attempts).toEqual([2])
  })

  test('F5: with "retry" the next caller goes on after the lease, not after the retention, and counts', async () => {
    const [one, two] = both({ onAbandoned: 'retry' })
    const began = bench.clock.monotonic()
    let ran = 0
    const first = one.run(ask, undefined, () => new Promise(() => {}))
    first.catch(() => undefined)
    await bench.clock.settle()
    bench.trouble('swallowed')
    const second = two.run(ask, { wait: '1m' }, ({ attempt }) => {
      ran = bench.clock.monotonic()
      return attempt
    })
    await bench.clock.advance(60_000)
    expect(await second).toEqual({ value: 2, replayed: false })
    expect(ran - began).toBeGreaterThanOrEqual(LEASE)
    expect(ran - began).toBeLessThan(LEASE + 1_000)
  })

  test('a key that runs, is done, or was never used cannot be settled', async () => {
    const [one, two] = both()
    expect(await two.settle(ask, { value: 1 })).toEqual({ settled: false, reason: 'missing' })
    let end!: () => void
    const first = one.run(ask, undefined, () => new Promise<void>((resolve) => (end = resolve)))
    await bench.clock.settle()
    expect(await two.settle(ask, { value: 1 })).toEqual({ settled: false, reason: 'running' })
    end()
    await first
    expect(await two.settle(ask, { value: 1 })).toEqual({ settled: false, reason: 'done' })
  })
})

describe('a runner that lost its key', () => {
  test('F7: is told by its signal, and cannot overwrite its successor', async () => {
    const [one, two] = both({ onAbandoned: 'retry' })
    const first = await cutOff(one)
    expect(first.run.signal.aborted).toBe(true)
    expect(first.run.signal.reason).toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'unreachable' })
    expect(await two.run(ask, undefined, () => 'second')).toEqual({ value: 'second', replayed: false })
    bench.heal()
    first.end('first')
    expect(await first.settled).toMatchObject({ reason: 'taken', work: { value: 'first' } })
    for (const idempotency of [one, two])
      expect((await idempotency.run(ask, undefined, never)).value).toBe('second')
  })

  test('F7: the same while its successor still runs', async () => {
    const [one, two] = both({ onAbandoned: 'retry' })
    const first = await cutOff(one)
    let end!: (value: string) => void
    const second = two.run(ask, undefined, () => new Promise<string>((resolve) => (end = resolve)))
    await bench.clock.settle()
    bench.heal()
    first.end('first')
    expect(await first.settled).toMatchObject({ reason: 'taken' })
    end('second')
    expect((await second).value).toBe('second')
    expect((await one.run(ask, undefined, never)).value).toBe('second')
  })

  test('F4: when it ends before anybody came, its outcome counts', async () => {
    const [one, two] = both()
    const first = await cutOff(one)
    expect(await rejection(two.run(ask, undefined, never))).toMatchObject({ reason: 'abandoned' })
    bench.heal()
    first.end('paid')
    expect(await first.settled).toEqual({ resolved: { value: 'paid', replayed: false } })
    expect(await two.settle(ask, { value: 'refunded' })).toEqual({ settled: false, reason: 'done' })
    expect(await two.run(ask, undefined, never)).toEqual({ value: 'paid', replayed: true })
  })

  test('a settlement stands against a run that comes back', async () => {
    const [one, two] = both()
    const first = await cutOff(one)
    await two.settle(ask, { value: 'settled' })
    bench.heal()
    first.end('late')
    expect(await first.settled).toMatchObject({ reason: 'taken', work: { value: 'late' } })
    expect((await one.run(ask, undefined, never)).value).toBe('settled')
  })

  test('its lease is over when its event loop was blocked: it knows on the very line on which it looks', async () => {
    const [one] = both()
    let run: IdempotentRun | null = null
    const outcome = one.run(ask, undefined, async (given) => {
      run = given
      bench.clock.blockFor(LEASE)
      return given.signal.aborted
    })
    expect((await outcome).value).toBe(true)
    expect((run as unknown as IdempotentRun).signal.reason).toMatchObject({ reason: 'expired' })
  })
})

describe('F16: a store that does not answer', () => {
  test.each([
    ['swallowed', StoreUnavailableError],
    ['unsent', StoreUnavailableError],
    ['READONLY', StoreRefusedError],
    ['OOM', StoreRefusedError],
  ] as const)(
    '%s: the call is refused within the budget, and the work does not run',
    async (trouble, kind) => {
      const [one] = both({ budget: 300 })
      bench.trouble(trouble)
      let settled: unknown = null
      void rejection(one.run(ask, { wait: '1m' }, never)).then((error) => (settled = error))
      await bench.clock.advance(300)
      expect(settled).toBeInstanceOf(kind)
    },
  )

  test('or runs it unprotected when that was chosen: once in this process', async () => {
    const [one] = both({ budget: 300, onStoreError: 'run' })
    bench.trouble('swallowed')
    let ran = 0
    const calls = Array.from({ length: 20 }, () =>
      one.run(ask, { wait: '1m' }, async (run) => {
        ran += 1
        await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 50))
        return run.unprotected
      }),
    )
    await bench.clock.advance(400)
    const outcomes = await Promise.all(calls)
    expect([ran, outcomes.filter(({ replayed }) => !replayed).length]).toEqual([1, 1])
    expect(outcomes.every(({ value }) => value)).toBe(true)
    expect(bench.told.filter(({ outcome }) => outcome === 'unprotected')).toHaveLength(1)
  })

  test('what is known to run elsewhere is not run unprotected', async () => {
    const [one, two] = both({ budget: 300, onStoreError: 'run' })
    let end!: () => void
    const first = two.run(ask, undefined, () => new Promise<void>((resolve) => (end = resolve)))
    await bench.clock.settle()
    const second = rejection(one.run(ask, { wait: '1m' }, never))
    await bench.clock.advance(200)
    bench.trouble('swallowed')
    await bench.clock.advance(2_000)
    expect(await second).toBeInstanceOf(StoreUnavailableError)
    end()
    await first
  })

  test('a claim whose answer was lost is asked again, and is ours', async () => {
    const [one] = both({ budget: 900 })
    bench.trouble('unanswered', 'claim')
    const outcome = one.run(ask, undefined, ({ attempt }) => attempt)
    await bench.clock.settle()
    bench.heal()
    await bench.clock.advance(900)
    expect(await outcome).toEqual({ value: 1, replayed: false })
  })

  test('a claim that was made and never answered is given back, so that the key is free and nobody is told "unknown"', async () => {
    const [one, two] = both({ budget: 300 })
    bench.trouble('unanswered', 'claim')
    expect(await rejection(one.run(ask, undefined, never), 300)).toBeInstanceOf(StoreUnavailableError)
    bench.heal()
    await bench.clock.advance(1_000)
    expect(await two.run(ask, undefined, ({ attempt }) => attempt)).toEqual({ value: 1, replayed: false })
  })

  test('a claim that could not be given back for a whole lease is given back later: nobody is told "abandoned"', async () => {
    const [one, two] = both()
    expect(await claimLeftBehind(one, 4 * LEASE)).toBeInstanceOf(StoreUnavailableError)
    expect(await two.inspect(ask)).toMatchObject({ state: 'abandoned' })
    bench.heal()
    await bench.clock.advance(31_000)
    expect(await two.inspect(ask)).toBeNull()
    const asked = bench.count('free')
    await bench.clock.advance(600_000)
    expect(bench.count('free')).toBe(asked)
    expect(await two.run(ask, undefined, ({ attempt }) => attempt)).toMatchObject({ value: 1 })
  })

  test('closing gives it back at once when the store is there again, and does not wait for the pause', async () => {
    const [one, two] = both()
    await claimLeftBehind(one, 20 * LEASE)
    bench.heal()
    const before = bench.clock.monotonic()
    await bench.hf.close()
    expect(bench.clock.monotonic() - before).toBe(0)
    expect(await two.inspect(ask)).toBeNull()
  })

  test('and tries again soon while it closes: a store that is there in time hears of it', async () => {
    const [one, two] = both({ budget: 100 })
    await claimLeftBehind(one, 20 * LEASE)
    const closing = bench.hf.close()
    await bench.clock.advance(1_000)
    bench.heal()
    await bench.clock.advance(150)
    await closing
    expect(await two.inspect(ask)).toBeNull()
  })

  test('so it goes on for a thousand keys, ever more seldom, and not beyond the retention', async () => {
    const [one, two] = both({ retention: '1h' })
    bench.trouble('unanswered', 'claim')
    bench.trouble('swallowed', 'free')
    const keys = Array.from({ length: 1_002 }, (_, i) => ({ key: `k${i}`, scope: 'a' }))
    const refused = Promise.allSettled(keys.map((key) => one.run(key, undefined, never)))
    await bench.clock.advance(60_000)
    await refused
    const early = bench.count('free')
    await bench.clock.advance(60_000)
    expect((bench.count('free') - early) / 1_000).toBeLessThanOrEqual(9)
    bench.heal()
    await bench.clock.advance(31_000)
    const states = await Promise.all(keys.map((key) => two.inspect(key)))
    expect(states.filter((state) => state !== null)).toHaveLength(2)

    await claimLeftBehind(one, 3_600_000 + 40_000)
    const asked = bench.count('free')
    await bench.clock.advance(600_000)
    expect(bench.count('free')).toBe(asked)
  })

  test('a claim that arrives after its call gave up is given back, too', async () => {
    const [one, two] = both({ budget: 300 })
    bench.trouble('swallowed', 'claim')
    const failed = rejection(one.run(ask, undefined, never))
    await bench.clock.advance(50)
    bench.trouble({ arrivesAfter: 250 }, 'claim')
    await bench.clock.advance(250)
    expect(await failed).toBeInstanceOf(StoreUnavailableError)
    await bench.clock.advance(60)
    // Its first release came before it.
    expect(await two.inspect(ask)).toMatchObject({ state: 'running' })
    await bench.clock.advance(1_000)
    expect(await two.inspect(ask)).toBeNull()
    expect((await two.run(ask, undefined, () => 'two')).value).toBe('two')
  })

  test('a claim that was refused to one copy is given back when another copy got it later', async () => {
    const [one, two] = both({ budget: 300 })
    let fail!: (error: Error) => void
    const running = two.run(ask, undefined, () => new Promise<void>((_, reject) => (fail = reject)))
    await bench.clock.settle()
    bench.trouble({ arrivesAfter: 250 }, 'claim')
    const refused = rejection(one.run(ask, undefined, never))
    await bench.clock.advance(50)
    bench.heal()
    await bench.clock.advance(100)
    expect(await refused).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
    fail(new Error('nothing happened'))
    expect(await rejection(running)).toMatchObject({ message: 'nothing happened' })
    expect(await two.inspect(ask)).toBeNull()
    await bench.clock.advance(150)
    expect(await two.inspect(ask)).toMatchObject({ state: 'running' })
    await bench.clock.advance(1_000)
    expect(await two.inspect(ask)).toBeNull()
  })

  test('an outcome whose storing fails is told, and is stored as soon as the store answers again', async () => {
    const [one, two] = both({ budget: 300 })
    bench.trouble('unsent', 'complete')
    const error = await rejection(
      one.run(ask, undefined, () => 'paid'),
      300,
    )
    expect(error).toMatchObject({ reason: 'unreachable', work: { value: 'paid' } })
    expect((error as Error).cause).toBeInstanceOf(StoreUnavailableError)
    // Until then nobody else begins.
    expect(await rejection(two.run(ask, undefined, never))).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' })
    bench.heal()
    await bench.clock.advance(2_000)
    expect(await two.run(ask, undefined, never)).toEqual({ value: 'paid', replayed: true })
  })

  test('a storing whose answer was lost is asked again, and is done once', async () => {
    const [one, two] = both({ budget: 900 })
    bench.trouble('unanswered', 'complete')
    const outcome = one.run(ask, undefined, () => 'paid')
    await bench.clock.settle()
    bench.heal()
    await bench.clock.advance(900)
    expect(await outcome).toEqual({ value: 'paid', replayed: false })
    expect((await two.run(ask, undefined, never)).value).toBe('paid')
  })
})

describe('closing', () => {
  test('rejects who waits and comes, aborts the work, and stores what it comes to in time', async () => {
    const [one, two] = both()
    const work = (run: IdempotentRun) =>
      new Promise<string>((resolve) => {
        run.signal.addEventListener('abort', () => bench.clock.setTimer(() => resolve('ended in time'), 500))
      })
    const first = one.run(ask, undefined, work)
    await bench.clock.settle()
    const waiting = rejection(one.run(ask, { wait: '1m' }, never))
    const closing = bench.hf.close()
    expect(await waiting).toMatchObject({ code: 'CLOSED' })
    expect(await rejection(one.run(ask, undefined, never))).toMatchObject({ code: 'CLOSED' })
    await bench.clock.advance(1_000)
    await closing
    expect(await first).toEqual({ value: 'ended in time', replayed: false })
    expect(await two.run(ask, undefined, never)).toEqual({ value: 'ended in time', replayed: true })
  })

  test('does not wait for ever: work that goes on loses its key when the lease ends, and is told', async () => {
    const [one, two] = both()
    let end!: (value: string) => void
    const first = one.run(ask, undefined, () => new Promise<string>((resolve) => (end = resolve)))
    await bench.clock.settle()
    let closed = false
    void bench.hf.close().then(() => (closed = true))
    await bench.clock.advance(2_000)
    expect(closed).toBe(true)
    await bench.clock.advance(LEASE)
    expect(await rejection(two.run(ask, undefined, never))).toMatchObject({ reason: 'abandoned' })
    end('late')
    expect(await rejection(first)).toMatchObject({ reason: 'closed', work: { value: 'late' } })
    expect(bench.clock.keepAliveTimers).toBe(0)
  })

  test('a settlement whose value is encoded only after that is refused, and not sent', async () => {
    let tell!: () => void
    const encode = (): Promise<string> => new Promise((resolve) => (tell = () => resolve('text')))
    const [one] = both({ codec: { encode, decode: String } })
    const settling = rejection(one.settle(ask, { value: 1 }))
    await bench.hf.close()
    tell()
    expect(await settling).toMatchObject({ code: 'CLOSED' })
    expect(bench.count('settle')).toBe(0)
  })

  test('leaves no timer behind', async () => {
    const [one] = both()
    await one.run(ask, undefined, () => 1)
    await one
      .run({ ...ask, key: 'b' }, undefined, () => Promise.reject(new Error('x')))
      .catch(() => undefined)
    await Promise.all([bench.hf.close(), bench.other.close()])
    expect(bench.clock.keepAliveTimers).toBe(0)
  })
})
