import { describe, expect, test } from 'vitest'
import { InvalidArgumentError } from './errors.ts'
import { checkBoolean, checkFunction, checkOptions, checkSignal } from './options.ts'

const known = ['ttl', 'wait', 'maxHold', 'renew', 'retry', 'reentrant', 'key']
const check = (options: unknown) => refusalOf(() => checkOptions(options, known, 'lock'))

describe('options', () => {
  test('known ones pass, and none at all', () => {
    for (const options of [
      undefined,
      {},
      { ttl: 1 },
      { ttl: undefined, key: 'a' },
      Object.create(null) as object,
    ]) {
      expect(() => checkOptions(options, known, 'lock')).not.toThrow()
    }
  })

  test.each([
    ['tll', 'ttl'],
    ['TTL', 'ttl'],
    ['timeout', null],
    ['maxhold', 'maxHold'],
    ['max_hold', 'maxHold'],
    ['re-entrant', 'reentrant'],
    ['waitMs', 'wait'],
    ['renewal', 'renew'],
    ['retries', 'retry'],
  ])('%s is refused, and the nearest name is told', (name, nearest) => {
    const refusal = check({ [name]: '5s' })
    expect(refusal.option).toBe(`lock.${name}`)
    expect(refusal.message).toContain('"5s"')
    expect(refusal.message).toContain(nearest === null ? known.join(', ') : `Did you mean "${nearest}"?`)
  })

  test('L9: an option of what is still to come does not exist', () => {
    const refusal = check({ fair: true })
    expect(refusal.message).toMatch(/^lock\.fair: true is set, but there is no such option\. /)
  })

  test('an unknown option is refused even when it is undefined, and the first one is named', () => {
    expect(check({ ttl: 1, nope: undefined, alsoNope: 1 }).option).toBe('lock.nope')
  })

  test.each([
    [null],
    [1],
    ['30s'],
    [true],
    [[]],
    [() => ({})],
    // What was to be one of them, or was to be awaited, would go unnoticed: it has no names.
    [AbortSignal.abort()],
    [Promise.resolve({ ttl: 1 })],
    [new Map([['ttl', 1]])],
    [new Date(0)],
  ])('%j is no object of options', (options) => {
    const refusal = check(options)
    expect(refusal.option).toBe('lock')
    expect(refusal.message).toContain('ttl, wait')
  })
})

describe('values of options', () => {
  test('booleans', () => {
    expect([checkBoolean(true, 'renew'), checkBoolean(false, 'renew')]).toEqual([true, false])
    for (const value of [0, 1, 'false', null, undefined, {}]) {
      const refusal = refusalOf(() => checkBoolean(value, 'renew'))
      expect(refusal).toMatchObject({ option: 'renew' })
      expect(refusal.message).toContain('Give true or false.')
    }
  })

  test('functions', () => {
    expect(() => checkFunction(async () => {}, 'work', 'x')).not.toThrow()
    for (const value of [undefined, null, {}, 'work', Promise.resolve()]) {
      const refusal = refusalOf(() => checkFunction(value, 'work', 'lock.run(async () => {})'))
      expect(refusal.message).toContain('Give a function, as lock.run(async () => {}).')
    }
  })

  test('signals, also of another realm', () => {
    const { signal } = new AbortController()
    expect(checkSignal(signal, 'signal')).toBe(signal)
    const foreign = {
      aborted: false,
      reason: undefined,
      addEventListener: () => {},
      removeEventListener: () => {},
    }
    expect(checkSignal(foreign, 'signal')).toBe(foreign)
    const half = { aborted: false, reason: undefined, addEventListener: () => {} }
    for (const value of [null, undefined, {}, new AbortController(), new EventTarget(), true, half]) {
      const refusal = refusalOf(() => checkSignal(value, 'signal'))
      expect(refusal).toMatchObject({ option: 'signal' })
      expect(refusal.message).toContain('AbortSignal.timeout(ms)')
    }
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
