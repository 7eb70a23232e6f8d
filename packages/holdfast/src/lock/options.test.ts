import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { LockBench } from '../testing/lock-bench.ts'
import { backoff, interval } from './retry.ts'

/**
 * Goal: whatever is given wrongly is refused with the option's name, the value and the remedy, before anything is sent.
 * Method: each wrong value over a store that counts its calls.
 */

let bench: LockBench

beforeEach(() => {
  bench = new LockBench()
})

afterEach(() => {
  expect(bench.store.calls).toEqual([])
  bench.end()
})

/** Options as a caller without types gives them. */
const loose = (value: unknown): never => value as never

async function refusalOf(run: () => unknown): Promise<InvalidArgumentError> {
  try {
    await run()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('it was not refused')
}

const ttls = [0, -1, 9, NaN, Infinity, 12.5, '30 sec', '30', '0s', '25h', 86_400_001, null, true, {}, '']

describe('a lock', () => {
  test.each(ttls)('is refused with the ttl %j', async (ttl) => {
    const refusal = await refusalOf(() => bench.hf.lock('a', loose({ ttl })))
    expect(refusal.option).toBe('ttl')
    expect(refusal.message).toMatch(
      /^ttl: .+ (is not a length of time|is too short|is too long)\. Give .+\.$/,
    )
  })

  test.each([
    ['wait', -1],
    ['wait', '1 h'],
    ['wait', Infinity],
    ['wait', '25h'],
    ['wait', null],
    ['maxHold', 0],
    ['maxHold', '9ms'],
    ['maxHold', '2d'],
    ['maxHold', null],
    ['renew', 'no'],
    ['renew', 0],
    ['renew', null],
    ['reentrant', 'yes'],
    ['reentrant', 1],
    ['retry', {}],
    ['retry', 'interval'],
    ['retry', 50],
    ['retry', null],
    ['retry', interval],
    ['key', ''],
    ['key', 12],
    ['key', null],
    ['key', 'a\ud800'],
  ])('is refused with %s: %j', async (option, value) => {
    const refusal = await refusalOf(() => bench.hf.lock('a', loose({ [option]: value })))
    expect(refusal.option).toBe(option)
    expect(refusal.message).toMatch(new RegExp(`^${option}: .+\\. (Give|Leave) .+\\.$`))
  })

  test('is refused with renew: false and maxHold together', async () => {
    const refusal = await refusalOf(() => bench.hf.lock('a', { renew: false, maxHold: '1m' }))
    expect(refusal.option).toBe('maxHold')
    expect(refusal.message).toContain('"1m"')
    expect(refusal.message).toContain('renew: false')
    expect(() => bench.hf.lock('a', { renew: true, maxHold: '1m' })).not.toThrow()
    expect(() => bench.hf.lock('a', { renew: false })).not.toThrow()
  })

  test.each([
    ['fair', true, null],
    ['TTL', '30s', 'ttl'],
    ['timeout', 5_000, null],
    ['expiry', '30s', null],
    ['waitTime', 1, 'wait'],
    ['maxhold', '1m', 'maxHold'],
    ['retries', 3, 'retry'],
    ['permits', 2, null],
  ])('is refused with the unknown option %s', async (option, value, nearest) => {
    const refusal = await refusalOf(() => bench.hf.lock('a', loose({ [option]: value })))
    expect(refusal.option).toBe(`lock.${option}`)
    expect(refusal.message).toContain('there is no such option')
    if (nearest !== null) expect(refusal.message).toContain(`Did you mean "${nearest}"?`)
  })

  test.each([null, 5, '30s', [], () => ({})])('is refused with %j for options', async (options) => {
    expect((await refusalOf(() => bench.hf.lock('a', loose(options)))).option).toBe('lock')
  })

  test.each(['', 12, null, undefined, 'a\ud800', {}, ['a']])('is refused with the name %j', async (name) => {
    expect((await refusalOf(() => bench.hf.lock(loose(name)))).option).toBe('name')
  })

  test('takes all that it should', () => {
    for (const options of [
      {},
      { ttl: 10 },
      { ttl: '1d', wait: 0 },
      { wait: '24h', maxHold: 10 },
      { retry: interval() },
      { retry: backoff({ base: '50ms', max: '1s' }) },
      { retry: { delay: () => 1 } },
      { key: 'locks/{a} b' },
      { ttl: undefined, wait: undefined, maxHold: undefined, key: undefined },
    ]) {
      expect(() => bench.hf.lock('a', loose(options))).not.toThrow()
    }
  })
})

describe('a call', () => {
  test.each([
    ['ttl', 0],
    ['ttl', '30 sec'],
    ['ttl', NaN],
    ['ttl', null],
    ['wait', -1],
    ['wait', '5 s'],
    ['wait', null],
    ['signal', {}],
    ['signal', new AbortController()],
    ['signal', null],
    ['within', {}],
    ['within', true],
    ['within', null],
  ])('is refused with %s: %j', async (option, value) => {
    const lock = bench.hf.lock('a')
    for (const call of [
      () => lock.acquire(loose({ [option]: value })),
      () => lock.run(() => undefined, loose({ [option]: value })),
    ]) {
      const refusal = await refusalOf(call)
      expect(refusal.option).toBe(option)
      expect(refusal.message).toMatch(new RegExp(`^${option}: .+\\. Give .+\\.$`))
    }
  })

  test('is refused with an option that only others take', async () => {
    const lock = bench.hf.lock('a')
    const refusals = [
      await refusalOf(() => lock.acquire(loose({ maxHold: 1 }))),
      await refusalOf(() => lock.run(() => 1, loose({ timeout: 1 }))),
      await refusalOf(() => lock.tryAcquire(loose({ wait: '5s' }))),
      await refusalOf(() => lock.tryRun(() => 1, loose({ wait: 0 }))),
      await refusalOf(() => lock.acquire(loose('5s'))),
    ]
    expect(refusals.map(({ option }) => option)).toEqual([
      'acquire.maxHold',
      'run.timeout',
      'tryAcquire.wait',
      'tryRun.wait',
      'acquire',
    ])
  })

  test('run and tryRun are refused without work', async () => {
    const lock = bench.hf.lock('a')
    for (const work of [undefined, null, 'work', {}, Promise.resolve(), { wait: 1 }]) {
      expect((await refusalOf(() => lock.run(loose(work)))).option).toBe('work')
      expect((await refusalOf(() => lock.tryRun(loose(work)))).option).toBe('work')
    }
  })

  test('never throws where it promised a promise', () => {
    const lock = bench.hf.lock('a')
    const calls = [
      lock.acquire(loose(1)),
      lock.tryAcquire(loose(1)),
      lock.run(loose(1)),
      lock.tryRun(loose(1)),
      bench.hf.inspect(''),
      bench.hf.forceRelease(''),
      bench.hf.close(loose(1)),
    ]
    for (const call of calls) call.catch(() => undefined)
    expect(calls.every((call) => call instanceof Promise)).toBe(true)
  })

  test('A8: is rejected with the reason of a signal that was aborted before', async () => {
    const reason = new Error('too late')
    const signal = AbortSignal.abort(reason)
    const lock = bench.hf.lock('a')
    for (const call of [
      lock.acquire({ signal }),
      lock.tryAcquire({ signal }),
      lock.run(() => 1, { signal }),
      lock.tryRun(() => 1, { signal }),
    ]) {
      await expect(call).rejects.toBe(reason)
    }
  })

  test('is rejected with ClosedError once the instance is closed', async () => {
    await bench.hf.close()
    const lock = bench.hf.lock('a')
    for (const call of [
      lock.acquire(),
      lock.acquire({ wait: 0 }),
      lock.tryAcquire(),
      lock.run(() => 1),
      lock.tryRun(() => 1),
      bench.hf.inspect('a'),
      bench.hf.forceRelease('a'),
      bench.hf.forceRelease('a', { owner: 'x' }),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'CLOSED' })
    }
  })
})

describe('inspecting and forcing', () => {
  test.each([
    ['inspect.owner', () => bench.hf.inspect('a', loose({ owner: 'x' }))],
    ['inspect', () => bench.hf.inspect('a', loose('k'))],
    ['name', () => bench.hf.inspect('')],
    ['name', () => bench.hf.inspect(loose(undefined))],
    ['key', () => bench.hf.inspect('a', { key: '' })],
    ['key', () => bench.hf.inspect('a', loose({ key: 12 }))],
    ['forceRelease.force', () => bench.hf.forceRelease('a', loose({ force: true }))],
    ['name', () => bench.hf.forceRelease('')],
    ['owner', () => bench.hf.forceRelease('a', { owner: '' })],
    ['owner', () => bench.hf.forceRelease('a', loose({ owner: null }))],
    ['owner', () => bench.hf.forceRelease('a', loose({ owner: {} }))],
    ['key', () => bench.hf.forceRelease('a', { key: '' })],
    ['close.force', () => bench.hf.close(loose({ force: true }))],
    ['release', () => bench.hf.close(loose({ release: 'no' }))],
  ])('a wrong %s is refused', async (option, call) => {
    expect((await refusalOf(call)).option).toBe(option)
  })
})
