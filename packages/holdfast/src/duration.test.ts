import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'
import { InvalidArgumentError } from './errors.ts'

const bounds = { min: 10, max: 86_400_000 }
const wide = { min: 0, max: Number.MAX_SAFE_INTEGER }
const parse = (value: unknown): number => parseDuration(value, 'ttl', bounds)

describe('durations', () => {
  test.each([
    [10, 10],
    [1_500, 1_500],
    ['10ms', 10],
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['007s', 7_000],
  ])('%j is %i ms', (given, ms) => {
    expect(parse(given)).toBe(ms)
  })

  test('zero is a length of time where the option takes it', () => {
    expect(parseDuration(0, 'wait', wide)).toBe(0)
    expect(parseDuration('0s', 'wait', wide)).toBe(0)
    expect(parseDuration(-0, 'wait', wide) === 0).toBe(true)
  })

  test.each([
    ['30 sec'],
    ['30 s'],
    [' 30s'],
    ['30s '],
    ['30S'],
    ['30'],
    ['s'],
    [''],
    ['1.5s'],
    ['-30s'],
    ['+30s'],
    ['1e3s'],
    ['0x10s'],
    ['30s5m'],
    ['30w'],
    ['٣٠s'],
    ['9999999999999s'],
    [NaN],
    [Infinity],
    [-Infinity],
    [10.5],
    [null],
    [true],
    [{}],
    [['30s']],
    [[30_000]],
    [30_000n],
    [Symbol('30s')],
    [Object(30_000) as unknown],
    [new Date(30_000)],
    [() => 30_000],
  ])('%s is none', (given) => {
    const refusal = refusalOf(() => parse(given))
    expect(refusal.message).toMatch(/^ttl: /)
    expect(refusal.message).toContain("as '30s'")
    expect(refusal).toMatchObject({
      option: 'ttl',
      code: 'INVALID_ARGUMENT',
      retryable: false,
      outcome: 'not-done',
    })
  })

  test.each([
    [0, 'is too short'],
    [9, 'is too short'],
    [-1, 'is too short'],
    [-30_000, 'is too short'],
    ['9ms', 'is too short'],
    [86_400_001, 'is too long'],
    ['25h', 'is too long'],
    ['2d', 'is too long'],
    [Number.MAX_SAFE_INTEGER, 'is too long'],
  ])('%s is out of bounds, and the bounds are told', (given, problem) => {
    const { message } = refusalOf(() => parse(given))
    expect(message).toContain(problem)
    expect(message).toContain('Give at least 10ms and at most 1d.')
  })

  test('the refusal shows the value as it was written', () => {
    expect(refusalOf(() => parse('30 sec')).message).toContain('"30 sec"')
    expect(refusalOf(() => parse(NaN)).message).toContain('NaN')
    expect(refusalOf(() => parse(30n)).message).toContain('30n')
  })

  test('what is written as a person would is read back as the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e12 }), (ms) => {
        expect(parseDuration(formatDuration(ms), 'ttl', wide)).toBe(ms)
      }),
    )
    expect([90_000, 0, 1, 60_000, 86_400_000, 5_400_000].map(formatDuration)).toEqual([
      '90s',
      '0',
      '1ms',
      '1m',
      '1d',
      '90m',
    ])
  })
})

function refusalOf(run: () => unknown): InvalidArgumentError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('it was not refused')
}
