import { expect, test } from 'vitest'
import { InvalidArgumentError } from '../errors.ts'
import { checkIdempotencyOptions, checkRunOptions, checkSettlement } from './options.ts'

/** Goal: what is wrong is refused before anything is sent, by its name. */

const optionOf = (call: () => unknown): string => {
  try {
    call()
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.option
    throw error
  }
  return 'none'
}

test('defaults: at most once, 30 s, a day, told at once', () => {
  expect(checkIdempotencyOptions()).toMatchObject({
    lease: 30_000,
    retention: 86_400_000,
    retryAbandoned: false,
    runsUnprotected: false,
    maxBytes: 262_144,
    budget: 1_000,
  })
  expect(checkRunOptions(undefined)).toEqual({ fingerprint: null, wait: 0, signal: null, transaction: null })
})

test.each([
  [{ lease: 0 }, 'lease'],
  [{ lease: '30 seconds' }, 'lease'],
  [{ lease: '1m', retention: '59s' }, 'retention'],
  [{ retention: '366d' }, 'retention'],
  [{ onAbandoned: 'again' }, 'onAbandoned'],
  [{ onStoreError: 'allow' }, 'onStoreError'],
  [{ isFinal: true }, 'isFinal'],
  [{ isFinal: async () => true }, 'isFinal'],
  [{ codec: { encode: () => '' } }, 'codec'],
  [{ maxBytes: 0 }, 'maxBytes'],
  [{ maxBytes: 16_777_217 }, 'maxBytes'],
  [{ budget: 1 }, 'budget'],
  [{ retain: '1d' }, 'idempotency.retain'],
  [{ lease: null }, 'lease'],
  [{ retention: null }, 'retention'],
  [{ maxBytes: null }, 'maxBytes'],
  [{ budget: null }, 'budget'],
])('%j is refused', (options, option) => {
  expect(optionOf(() => checkIdempotencyOptions(options as never))).toBe(option)
})

test.each([
  [{ wait: -1 }, 'wait'],
  [{ wait: '2d' }, 'wait'],
  [{ signal: {} }, 'signal'],
  [{ fingerprint: 1n }, 'fingerprint'],
  [{ fingerPrint: 1 }, 'run.fingerPrint'],
])('%o is refused', (options, option) => {
  expect(optionOf(() => checkRunOptions(options as never))).toBe(option)
})

test('a settlement says one thing', () => {
  expect(checkSettlement({ value: undefined })).toEqual({ value: undefined })
  expect(checkSettlement({ retry: true })).toBeNull()
  for (const wrong of [{}, { value: 1, retry: true }, { retry: false }, null, undefined, { values: 1 }])
    expect(optionOf(() => checkSettlement(wrong))).toMatch(/^settle/)
})
