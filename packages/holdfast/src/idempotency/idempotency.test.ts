import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  InvalidArgumentError,
  OutcomeUnknownError,
} from '../errors.ts'
import { OnceBench } from '../testing/once-bench.ts'
import type { IdempotentRun } from './execution.ts'
import { finalError, isFinalError } from './final-error.ts'
import type { Idempotency } from './idempotency.ts'
import type { IdempotencyOptions, IdempotentRunOptions } from './options.ts'

/**
 * Goal: of all calls with a key one runs the work, and the others are told what it came to.
 * Method: two processes over a store in memory, under a virtual clock.
 */

const ask = { key: 'order-1', scope: 'user-1' }

let bench: OnceBench

beforeEach(() => {
  bench = new OnceBench()
})
afterEach(() => bench.close())

/** The same idempotency in both processes. */
function both(options?: IdempotencyOptions): [Idempotency, Idempotency] {
  return [bench.hf.idempotency('payments', options), bench.other.idempotency('payments', options)]
}

/** A work that ends when it is told to. */
function held<T>() {
  const runs: IdempotentRun[] = []
  let end!: (value: T) => void
  let fail!: (error: unknown) => void
  const done = new Promise<T>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const work = (run: IdempotentRun): Promise<T> => {
    runs.push(run)
    return done
  }
  return { runs, end, fail, work }
}

const never = (): never => {
  throw new Error('it must not run')
}

/** What a promise rejects with, once so much time has passed. */
async function rejection(promise: Promise<unknown>, ms = 0): Promise<unknown> {
  const caught = promise.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  )
  if (ms > 0) await bench.clock.advance(ms)
  return caught
}

describe('one run', () => {
  test('is told its key, and that it is the first; its value comes out, and is replayed in every process', async () => {
    const [one, two] = both()
    const { runs, end, work } = held<{ id: number }>()
    const first = one.run(ask, { fingerprint: { amount: 1 } }, work)
    await bench.clock.settle()
    const [run] = runs
    expect(run).toMatchObject({ ...ask, attempt: 1, unprotected: false })
    expect(run?.signal.aborted).toBe(false)
    end({ id: 7 })
    expect(await first).toEqual({ value: { id: 7 }, replayed: false })
    for (const idempotency of [one, two]) {
      const again = await idempotency.run(ask, { fingerprint: { amount: 1.0 } }, never)
      expect(again).toEqual({ value: { id: 7 }, replayed: true })
    }
    expect(bench.told.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ['ran', 1],
      ['replayed', null],
      ['replayed', null],
    ])
    expect([bench.count('claim'), bench.count('complete')]).toEqual([2, 1])
  })

  test.each([[0], [false], [null], [''], [undefined], [[]], [204]])(
    'F1: %j is replayed, and not run again',
    async (value) => {
      const [one, two] = both()
      expect(await one.run(ask, undefined, () => value)).toEqual({ value, replayed: false })
      for (const idempotency of [one, two])
        expect(await idempotency.run(ask, undefined, never)).toEqual({ value, replayed: true })
    },
  )

  test('F3: two calls at once in two processes: one runs, and the record always has an end', async () => {
    const [one, two] = both()
    const work = held<string>()
    const calls = [one, two].map((each) => each.run(ask, { wait: '5s' }, work.work))
    await bench.clock.advance(1_000)
    expect(work.runs).toHaveLength(1)
    const info = await two.inspect(ask)
    expect(info).toMatchObject({ state: 'running', attempt: 1, owner: work.runs[0]?.owner })
    expect(info?.leaseLeft).toBeGreaterThan(0)
    expect(info?.expiresIn).toBeLessThanOrEqual(86_400_000)
    work.end('paid')
    await bench.clock.advance(1_000)
    const outcomes = await Promise.all(calls)
    expect(outcomes.map(({ replayed }) => replayed).sort()).toEqual([false, true])
  })

  test('F10: the same key of another scope or another idempotency is another one; a scope must be said', async () => {
    const [one] = both()
    const values = [
      await one.run(ask, undefined, () => 1),
      await one.run({ ...ask, scope: 'user-2' }, undefined, () => 2),
      await one.run({ ...ask, scope: 'global' }, undefined, () => 3),
      await bench.hf.idempotency('refunds').run(ask, undefined, () => 4),
    ]
    expect(values.map(({ value }) => value)).toEqual([1, 2, 3, 4])
    for (const wrong of [
      { key: 'a' },
      { key: 'a', scope: '' },
      { scope: 'a' },
      undefined,
      { ...ask, user: 1 },
    ]) {
      const error = await rejection(one.run(wrong as never, undefined, never))
      expect(error).toBeInstanceOf(InvalidArgumentError)
    }
    const error = (await rejection(one.run({ key: 'a' } as never, undefined, never))) as Error
    expect(error.message).toContain("'global'")
  })

  test('outlives its lease many times over while it runs, and a repeat waits for it', async () => {
    const [one, two] = both({ lease: '3s', onAbandoned: 'retry' })
    const work = held<string>()
    const first = one.run(ask, undefined, work.work)
    await bench.clock.advance(60_000)
    const second = two.run(ask, { wait: '10s' }, never)
    await bench.clock.advance(3_000)
    work.end('late')
    await bench.clock.advance(1_000)
    expect([await first, await second]).toEqual([
      { value: 'late', replayed: false },
      { value: 'late', replayed: true },
    ])
  })
})

describe('what is final', () => {
  test.each([
    ['a number', () => 7],
    ['nothing', () => undefined],
    ['a promise', () => Promise.resolve(true)],
    ['a promise that rejects', () => Promise.reject(new Error('no'))],
  ])(
    'isFinal that returns %s is refused by name, and the work does not run again',
    async (_what, isFinal) => {
      const odd = bench.hf.idempotency('odd', { isFinal: isFinal as never })
      let ran = 0
      const error = await rejection(odd.run(ask, undefined, () => (ran += 1)))
      expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'codec', work: { value: 1 } })
      expect((error as Error).cause).toMatchObject({ code: 'INVALID_ARGUMENT', option: 'isFinal' })
      expect(await rejection(odd.run(ask, undefined, () => (ran += 1)))).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
      })
      expect(ran).toBe(1)
    },
  )

  test('F8: an error is not stored and frees the key, unless it is marked as final', async () => {
    const [one, two] = both()
    const failed = new Error('429')
    expect(await rejection(one.run(ask, undefined, () => Promise.reject(failed)))).toBe(failed)
    expect(await one.inspect(ask)).toBeNull()
    const declined = Object.assign(new TypeError('declined'), { code: 'card', status: 402 })
    expect(await rejection(two.run(ask, undefined, () => Promise.reject(finalError(declined))))).toBe(
      declined,
    )
    const replayed = await rejection(one.run(ask, undefined, never))
    expect(replayed).toBeInstanceOf(Error)
    expect(replayed).toMatchObject({ name: 'TypeError', message: 'declined', code: 'card', status: 402 })
    expect(replayed).toMatchObject({ replayed: true })
    expect(isFinalError(replayed)).toBe(true)
    expect(bench.told.map(({ outcome }) => outcome)).toEqual(['freed', 'ran', 'replayed'])
  })

  test('F8: a final error without a name is replayed as an error all the same', async () => {
    const [one, two] = both()
    const nameless = finalError(Object.assign(new Error('declined'), { name: '' }))
    expect(await rejection(one.run(ask, undefined, () => Promise.reject(nameless)))).toBe(nameless)
    expect(await rejection(two.run(ask, undefined, never))).toMatchObject({ message: 'declined' })
  })

  test('F8: the caller decides by isFinal, about values and errors', async () => {
    const isFinal = (outcome: { value: unknown } | { error: unknown }) =>
      'value' in outcome && (outcome.value as { status: number }).status < 500
    const [one] = both({ isFinal: isFinal })
    let calls = 0
    const respond = () => ({ status: ++calls < 3 ? 500 : 200 })
    const statuses = []
    for (let i = 0; i < 4; i += 1) statuses.push((await one.run(ask, undefined, respond)).value.status)
    expect([statuses, calls]).toEqual([[500, 500, 200, 200], 3])
  })

  test('a thrown value that is no error is replayed as it was; what cannot be marked is refused', async () => {
    const [one] = both({ isFinal: () => true })
    for (let i = 0; i < 2; i += 1) {
      const thrown = one.run(ask, undefined, () => Promise.reject({ odd: 1 }))
      expect(await rejection(thrown)).toEqual({ odd: 1 })
    }
    expect(() => finalError(Object.freeze(new Error('x')))).toThrow(InvalidArgumentError)
    expect(() => finalError('x' as never)).toThrow(InvalidArgumentError)
  })

  test('an isFinal that fails is told, and the work does not run again', async () => {
    const [one] = both({
      isFinal: () => {
        throw new Error('bug')
      },
    })
    const error = await rejection(one.run(ask, undefined, () => 'charged'))
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'codec', work: { value: 'charged' } })
    expect(await rejection(one.run(ask, undefined, never))).toMatchObject({ reason: 'codec', work: null })
  })
})

describe('while another runs it', () => {
  test('F12: another payload is refused at once, in this process and in another, in flight and after', async () => {
    const [one, two] = both()
    const work = held<string>()
    const first = one.run(ask, { fingerprint: { a: 1, b: 2 } }, work.work)
    await bench.clock.settle()
    const other = { fingerprint: { a: 1, b: 3 }, wait: '5s' } as const
    const refused = async () => {
      for (const idempotency of [one, two])
        expect(await rejection(idempotency.run(ask, other, never))).toBeInstanceOf(IdempotencyMismatchError)
    }
    await refused()
    work.end('paid')
    await first
    await refused()
    expect(await one.run(ask, { fingerprint: { b: 2, a: 1 } }, never)).toMatchObject({ replayed: true })
    expect(await two.run(ask, undefined, never)).toMatchObject({ replayed: true })
  })

  test('it is told at once by default, with a time to come back', async () => {
    const [one, two] = both()
    const work = held<string>()
    const first = one.run(ask, undefined, work.work)
    await bench.clock.settle()
    for (const idempotency of [one, two]) {
      const error = await rejection(idempotency.run(ask, undefined, never))
      expect(error).toBeInstanceOf(IdempotencyInProgressError)
      expect(error).toMatchObject({ retryable: true, outcome: 'not-done', retryAfter: 1_000 })
    }
    work.end('paid')
    await first
  })

  test('it waits as long as it was told to, asks ever more seldom, and leaves no timer', async () => {
    const [one, two] = both()
    const work = held<string>()
    const first = two.run(ask, undefined, work.work)
    await bench.clock.settle()
    let error: unknown = null
    const waiting = rejection(one.run(ask, { wait: '10s' }, never)).then((found) => (error = found))
    await bench.clock.advance(9_990)
    expect(error).toBeNull()
    await bench.clock.advance(20)
    await waiting
    expect(error).toBeInstanceOf(IdempotencyInProgressError)
    expect(bench.count('claim')).toBeLessThan(50)
    expect(bench.clock.keepAliveTimers).toBe(0)
    work.end('paid')
    await first
  })

  test('a repeat runs the work itself when the first one frees the key', async () => {
    const [one, two] = both()
    const work = held<string>()
    const first = rejection(one.run(ask, undefined, work.work))
    await bench.clock.settle()
    const [near, far] = [
      one.run(ask, { wait: '5s' }, () => 'near'),
      two.run(ask, { wait: '5s' }, () => 'far'),
    ]
    work.fail(new Error('not final'))
    await bench.clock.advance(2_000)
    await first
    const values = [await near, await far]
    expect(values.map(({ replayed }) => replayed).sort()).toEqual([false, true])
    expect(values[0]?.value).toBe(values[1]?.value)
  })

  test('a caller that aborts is told its reason at once, whether it asks, waits here or waits elsewhere', async () => {
    const [one, two] = both()
    const work = held<string>()
    const first = two.run(ask, undefined, work.work)
    await bench.clock.settle()
    const gone = new AbortController()
    const { signal } = gone
    const waits = [one.run(ask, { wait: '5s', signal }, never), two.run(ask, { wait: '5s', signal }, never)]
    const reason = new Error('gone')
    const all = waits.map((wait) => rejection(wait))
    await bench.clock.settle()
    gone.abort(reason)
    expect(await Promise.all(all)).toEqual([reason, reason])
    expect(await rejection(one.run(ask, { signal }, never))).toBe(reason)
    work.end('paid')
    await first
    expect(bench.clock.keepAliveTimers).toBe(0)
  })

  test('a signal of a stand-in that lacks newer methods will do', async () => {
    const { signal } = new AbortController()
    const old = Object.assign(signal, { throwIfAborted: undefined }) as unknown as AbortSignal
    expect(await both()[0].run(ask, { signal: old }, () => 1)).toMatchObject({ value: 1 })
  })

  test('a caller that aborts while it asks leaves no claim behind, and others of its process go on', async () => {
    const [one] = both()
    bench.trouble({ arrivesAfter: 100 }, 'claim')
    const gone = new AbortController()
    const first = rejection(one.run(ask, { signal: gone.signal }, never))
    await bench.clock.settle()
    const second = one.run(ask, undefined, () => 'second')
    gone.abort(new Error('gone'))
    expect(await first).toMatchObject({ message: 'gone' })
    await bench.clock.advance(500)
    expect(await second).toEqual({ value: 'second', replayed: false })
  })
})

describe('in one process', () => {
  test('F9: a thousand calls of one key run the work once, and cost as many commands as one', async () => {
    const [one] = both()
    let ran = 0
    const options: IdempotentRunOptions = { wait: '5s', fingerprint: { a: 1 } }
    const work = async () => {
      ran += 1
      await new Promise<void>((resolve) => void bench.clock.setTimer(resolve, 100))
      return { ran }
    }
    const calls = Array.from({ length: 1_000 }, () => one.run(ask, options, work))
    await bench.clock.advance(200)
    const outcomes = await Promise.all(calls)
    expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(outcomes.every(({ value }) => value.ran === 1)).toBe(true)
    expect([ran, bench.calls]).toEqual([1, ['claim', 'complete']])
    // Each has a value of its own, as from the store.
    expect(outcomes[1]?.value).not.toBe(outcomes[2]?.value)
  })

  test('F9: a thousand calls of a key that is done, or runs elsewhere, ask together', async () => {
    const [one, two] = both()
    const work = held<string>()
    const first = two.run(ask, undefined, work.work)
    await bench.clock.settle()
    const calls = Array.from({ length: 1_000 }, () => one.run(ask, { wait: '5s' }, never))
    await bench.clock.advance(1_000)
    expect(bench.calls.length).toBeLessThan(15)
    work.end('paid')
    await bench.clock.advance(1_000)
    for (const outcome of await Promise.all(calls)) expect(outcome).toEqual({ value: 'paid', replayed: true })
    await first
    bench.calls.length = 0
    await Promise.all(Array.from({ length: 1_000 }, () => one.run(ask, undefined, never)))
    expect(bench.calls).toEqual(['claim'])
  })
})

describe('what cannot be stored', () => {
  test('F14: an outcome that is too large is told, not cut, and the work does not run again', async () => {
    const [one, two] = both({ maxBytes: 100, onAbandoned: 'retry' })
    const fits = 'x'.repeat(98)
    expect(await one.run({ ...ask, key: 'fits' }, undefined, () => fits)).toMatchObject({ value: fits })
    expect(await two.run({ ...ask, key: 'fits' }, undefined, never)).toMatchObject({ value: fits })
    const large = 'x'.repeat(99)
    const error = await rejection(one.run(ask, undefined, () => large))
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ reason: 'too-large', work: { value: large } })
    for (const idempotency of [one, two])
      expect(await rejection(idempotency.run(ask, undefined, never))).toMatchObject({ reason: 'too-large' })
    expect(await two.inspect(ask)).toMatchObject({ state: 'unstored' })
    expect(await two.settle(ask, { value: 'see the files' })).toEqual({ settled: true })
    expect(await one.run(ask, undefined, never)).toEqual({ value: 'see the files', replayed: true })
  })

  test('F14: bytes are counted, not characters', async () => {
    const [one] = both({ maxBytes: 10 })
    expect((await one.run(ask, undefined, () => 'éééé')).value).toBe('éééé')
    expect(await rejection(one.run({ ...ask, key: 'b' }, undefined, () => 'ééééé'))).toMatchObject({
      reason: 'too-large',
    })
  })

  test.each([1n, () => 1, Symbol('x')])('%o, which JSON cannot hold, is told', async (value) => {
    const [one] = both()
    const error = await rejection(one.run(ask, undefined, () => value as unknown))
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', reason: 'codec', work: { value } })
    expect((error as Error).cause).toBeInstanceOf(TypeError)
  })

  test('a codec of bytes, also an asynchronous one, gives back what it took; errors go through it', async () => {
    const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff)
    const codec = {
      encode: async (value: unknown) => flip(Buffer.from(JSON.stringify(value))),
      decode: async (stored: string | Uint8Array) =>
        JSON.parse(Buffer.from(flip(stored as Uint8Array)).toString()) as unknown,
    }
    const [one, two] = both({ codec })
    await one.run(ask, undefined, () => ({ secret: 'é' }))
    expect((await two.run(ask, undefined, never)).value).toEqual({ secret: 'é' })
    const declined = { ...ask, key: 'declined' }
    await rejection(one.run(declined, undefined, () => Promise.reject(finalError(new Error('no')))))
    expect(await rejection(two.run(declined, undefined, never))).toMatchObject({ message: 'no' })
  })

  test('a codec that throws, gives nonsense, or cannot read what is there, is told', async () => {
    const broken = (encode: () => unknown, decode = () => 1) => ({ encode, decode }) as never
    const bug = () => {
      throw new Error('bug')
    }
    for (const [key, encode] of [
      ['throws', bug],
      ['number', () => 5],
      ['half', () => '\ud800'],
    ] as const) {
      const [one] = both({ codec: broken(encode) })
      const error = await rejection(one.run({ ...ask, key }, undefined, () => 1))
      expect([key, error]).toEqual([key, expect.objectContaining({ reason: 'codec', work: { value: 1 } })])
    }
    await both()[0].run(ask, undefined, () => 'paid')
    const [unable] = both({ codec: broken(() => '', bug) })
    const error = await rejection(unable.run(ask, undefined, never))
    expect(error).toMatchObject({ reason: 'codec', work: null, cause: { message: 'bug' } })
    expect(await both()[1].run(ask, undefined, never)).toMatchObject({ value: 'paid' })
  })

  test("a work's own error is not replaced: ours rides along", async () => {
    const [one] = both({ maxBytes: 10 })
    const own = finalError(new Error('declined'))
    expect(await rejection(one.run(ask, undefined, () => Promise.reject(own)))).toBe(own)
    expect((own as { holdfast?: unknown }).holdfast).toMatchObject({ reason: 'too-large' })
    expect(Object.keys(own)).toEqual([])
  })
})
