import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import {
  checkLimiterOptions,
  checkPeekOptions,
  checkReserveOptions,
  checkTakeOptions,
  checkWaitOptions,
} from './options.ts'
import { leakyBucket, slidingWindow } from './policies.ts'

const loose = (value: unknown): never => value as never
const policies = [slidingWindow({ limit: 3, per: '1m' })] as const

function refusalOf(run: () => unknown): InvalidArgumentError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('it was not refused')
}

describe('the options of a limiter', () => {
  test('have their defaults', () => {
    const defaults = {
      limitFor: null,
      countDenied: false,
      shadow: false,
      onStoreError: 'throw',
      instances: 1,
      budget: 100,
      rememberFor: 1_000,
      lease: null,
      maxWaiting: 1_000,
    }
    expect(checkLimiterOptions(undefined, policies)).toEqual(defaults)
    expect(checkLimiterOptions({ shadow: true }, policies)).toEqual({
      ...defaults,
      shadow: true,
      onStoreError: 'allow',
    })
    expect(checkLimiterOptions({ shadow: true, onStoreError: 'throw' }, policies).onStoreError).toBe('throw')
    expect(checkLimiterOptions({ countDenied: true }, policies).rememberFor).toBe(0)
  })

  test.each([
    ['countDenied', 1],
    ['shadow', 'yes'],
    ['onStoreError', 'ignore'],
    ['onStoreError', null],
    ['instances', 0],
    ['instances', 1.5],
    ['budget', 29],
    ['budget', '2m'],
    ['rememberFor', 1_001],
    ['rememberFor', -1],
    ['rememberFor', true],
    ['rememberFor', null],
    ['maxWaiting', 0],
    ['maxWaiting', 100_001],
    ['maxWaiting', '5'],
    ['lease', 0],
  ])('refuses %s: %j', (option, value) => {
    const refusal = refusalOf(() => checkLimiterOptions(loose({ [option]: value }), policies))
    expect(refusal.option).toBe(option)
  })

  test('that contradict each other are refused', () => {
    expect(refusalOf(() => checkLimiterOptions({ countDenied: true, rememberFor: 5 }, policies)).option).toBe(
      'rememberFor',
    )
    expect(checkLimiterOptions({ countDenied: true, rememberFor: 0 }, policies).rememberFor).toBe(0)
    expect(refusalOf(() => checkLimiterOptions({ countDenied: true, lease: 5 }, policies)).option).toBe(
      'lease',
    )
    const shaped = [leakyBucket({ capacity: 3, rate: 1, per: '1s' })] as const
    expect(refusalOf(() => checkLimiterOptions({ lease: 5 }, shaped)).message).toContain('leaky-bucket')
  })

  test('that do not exist are refused, with the nearest name', () => {
    expect(refusalOf(() => checkLimiterOptions(loose({ onError: 'allow' }), policies)).option).toBe(
      'limiter.onError',
    )
    expect(refusalOf(() => checkLimiterOptions(loose({ lesae: 5 }), policies)).message).toContain(
      'Did you mean "lease"?',
    )
  })
})

describe('the options of a call', () => {
  test('have their defaults', () => {
    expect(checkTakeOptions(undefined)).toEqual({ cost: 1, signal: null })
    expect(checkPeekOptions(undefined)).toBe(1)
    expect(checkWaitOptions(undefined, 'waitFor')).toEqual({ cost: 1, signal: null, wait: 5_000 })
    expect(checkReserveOptions(undefined)).toEqual({ cost: 1, signal: null, time: 60_000, atEnd: 'settle' })
  })

  test('are refused when they do not exist, or are none', () => {
    expect(refusalOf(() => checkTakeOptions(loose({ wait: 5 }))).option).toBe('take.wait')
    expect(refusalOf(() => checkTakeOptions(loose(5))).option).toBe('take')
    expect(refusalOf(() => checkPeekOptions(loose({ signal: null }))).option).toBe('peek.signal')
    expect(refusalOf(() => checkWaitOptions(loose({ for: 5 }), 'run')).option).toBe('run.for')
    expect(refusalOf(() => checkWaitOptions({ wait: -1 }, 'run')).option).toBe('wait')
    expect(refusalOf(() => checkTakeOptions(loose({ signal: {} }))).option).toBe('signal')
    expect(refusalOf(() => checkReserveOptions(loose({ wait: 5 }))).option).toBe('reserve.wait')
  })
})
