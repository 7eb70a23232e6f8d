import { describe, expect, test, vi } from 'vitest'
import {
  ClosedError,
  HoldfastError,
  InvalidArgumentError,
  isHoldfastError,
  LockLostError,
  LockTimeoutError,
  RateLimitedError,
  SlotLostError,
  StoreRefusedError,
  StoreUnavailableError,
} from './errors.ts'
import { show } from './show.ts'

const all = [
  new InvalidArgumentError('ttl', 0, { problem: 'is too short', remedy: 'Give more.' }),
  new LockTimeoutError('a', 5_000, 'x@host:1'),
  new LockLostError('a', 'expired'),
  new ClosedError(),
  new StoreUnavailableError('down', 'unknown', new Error('reset')),
  new StoreRefusedError('full', { retryable: true, outcome: 'not-done', reason: 'OOM' }),
  new RateLimitedError('api', 'u', 'queue-full', null),
  new SlotLostError('api', 'u', 'missing'),
]

describe('secrets', () => {
  test.each([
    ['postgres://u:hunter2@h/db', '"postgres://u:…@h/db"'],
    [{ url: 'redis://:hunter2@h:6379', db: 1 }, '{"url":"redis://:…@h:6379","db":1}'],
    [{ host: 'h', password: 'hunter2' }, '{"host":"h","password":"…"}'],
    [{ options: { authToken: 'hunter2', apiKey: 'hunter2' } }, '{"options":{"authToken":"…","apiKey":"…"}}'],
  ])('are not shown in errors (%o)', (value, shown) => {
    expect(show(value)).toBe(shown)
    const error = new InvalidArgumentError('store', value, { problem: 'is odd', remedy: 'Do not.' })
    expect(error.message).not.toContain('hunter2')
    expect(JSON.stringify(error)).not.toContain('hunter2')
  })
})

describe('errors', () => {
  test.each(all.map((error) => [error.name, error] as const))(
    '%s has its name as its code',
    (name, error) => {
      const code = name
        .replace(/Error$/, '')
        .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
        .toUpperCase()
      expect(error.code).toBe(code)
      expect((error.constructor as typeof HoldfastError).code).toBe(code)
      expect(error).toBeInstanceOf(Error)
      expect(error).toBeInstanceOf(HoldfastError)
      expect(isHoldfastError(error)).toBe(true)
      expect(isHoldfastError(error, error.code)).toBe(true)
      expect(error.stack).toContain(error.message)
    },
  )

  test('each is an instance of its own class only', () => {
    const classes = [
      InvalidArgumentError,
      LockTimeoutError,
      LockLostError,
      ClosedError,
      StoreUnavailableError,
      StoreRefusedError,
      RateLimitedError,
      SlotLostError,
    ]
    expect(all.map((error) => classes.filter((one) => error instanceof one))).toEqual(
      classes.map((one) => [one]),
    )
  })

  test('nothing else is one of ours', () => {
    const others = [
      new Error('x'),
      { code: 'CLOSED', name: 'ClosedError' },
      null,
      undefined,
      'CLOSED',
      1,
      () => {},
    ]
    for (const value of others) {
      expect(isHoldfastError(value)).toBe(false)
      expect(value instanceof HoldfastError).toBe(false)
      expect(value instanceof ClosedError).toBe(false)
    }
    expect(isHoldfastError(new ClosedError(), 'LOCK_LOST')).toBe(false)
  })

  test('another copy of the library recognises them', async () => {
    vi.resetModules()
    const copy = await import('./errors.ts')
    expect(copy.ClosedError).not.toBe(ClosedError)
    expect(new ClosedError()).toBeInstanceOf(copy.ClosedError)
    expect(new copy.LockLostError('a', 'taken')).toBeInstanceOf(LockLostError)
    expect(new copy.LockLostError('a', 'taken')).not.toBeInstanceOf(ClosedError)
    expect(copy.isHoldfastError(new ClosedError(), 'CLOSED')).toBe(true)
  })

  test('they can be logged as JSON, without what cannot be', () => {
    const error = new StoreUnavailableError('down', 'unknown', new Error('reset'))
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'StoreUnavailableError',
      code: 'STORE_UNAVAILABLE',
      message: 'down',
      retryable: true,
      outcome: 'unknown',
      details: {},
    })
    expect(error.cause).toMatchObject({ message: 'reset' })
    expect('cause' in new ClosedError()).toBe(false)
    expect(Object.keys(error)).not.toContain('Symbol(holdfast.error)')
  })

  test('a timeout says who holds it', () => {
    const error = new LockTimeoutError('order:1', 5_000.4, 'x@host:1')
    expect(error.message).toBe('The lock "order:1" was not free within 5000 ms: held by x@host:1.')
    expect(error).toMatchObject({ holder: 'x@host:1', retryable: true, outcome: 'not-done' })
    expect(new LockTimeoutError('a', 0, null).message).toContain('others are before us')
  })

  test('a loss says why, and how the work ended', () => {
    for (const reason of [
      'expired',
      'taken',
      'missing',
      'unreachable',
      'max-hold',
      'forced',
      'released',
    ] as const) {
      const error = new LockLostError('a', reason)
      expect(error).toMatchObject({ reason, work: null, outcome: 'not-done', details: { lock: 'a', reason } })
      expect(error.message).toMatch(/^The lock "a" is not held: .+\.$/)
    }
    const after = new LockLostError('a', 'taken', { value: 1 })
    expect(after).toMatchObject({ work: { value: 1 }, outcome: 'unknown' })
    expect(after.message).toContain('`work`')
  })

  test('a wrong argument names option, value and remedy', () => {
    const error = new InvalidArgumentError('lock.ttl', '30 sec', {
      problem: 'is no time',
      remedy: "Give '30s'.",
    })
    expect(error.message).toBe(`lock.ttl: "30 sec" is no time. Give '30s'.`)
    expect(error.details).toEqual({ option: 'lock.ttl', value: '"30 sec"' })
  })
})

describe('values in messages', () => {
  /** As a mock of some object, which throws at whatever it is asked. */
  const trap = new Proxy(
    {},
    {
      get: () => {
        throw new Error('a trap')
      },
    },
  )

  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const hostile = {
    toJSON() {
      throw new Error('no')
    },
  }
  test.each([
    ['a "quoted"\nline', '"a \\"quoted\\"\\nline"'],
    [12n, '12n'],
    [NaN, 'NaN'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Symbol('s'), 'Symbol(s)'],
    [{ a: 1 }, '{"a":1}'],
    [circular, '[object Object]'],
    [hostile, '[object Object]'],
    [{ toJSON: () => undefined }, '[object Object]'],
    [trap, 'an object'],
    [{ big: 1n }, '[object Object]'],
    [
      function work() {
        return 1
      },
      'function work',
    ],
  ])('%# is shown on one line', (value, shown) => {
    expect(show(value)).toBe(shown)
  })

  test('long ones are cut', () => {
    expect(show('x'.repeat(10_000))).toHaveLength(118)
    class Redis {
      options = { host: 'h', user: 'u' }
    }
    expect(show(new Redis())).toBe('an object of Redis')
    expect(show(new Date(0))).toBe('"1970-01-01T00:00:00.000Z"')
    expect(show({ text: 'x'.repeat(10_000) }).endsWith('…')).toBe(true)
  })
})
