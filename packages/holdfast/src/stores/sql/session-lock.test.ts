import { expect, test } from 'vitest'
import { InvalidArgumentError } from '../../errors.ts'
import { SessionLock } from './session-lock.ts'

/** Goal: what is wrong is refused before a connection is taken, by its name. */

const noParts = new Proxy({} as ConstructorParameters<typeof SessionLock>[2], {
  get: () => {
    throw new Error('it must not be asked')
  },
})

test.each([
  [{ wait: null }, 'wait'],
  [{ wait: -1 }, 'wait'],
  [{ check: null }, 'check'],
  [{ check: 0 }, 'check'],
  [{ ttl: 1 }, 'session lock.ttl'],
  [AbortSignal.abort(), 'session lock'],
])('%j is refused', (options, option) => {
  const make = (): SessionLock => new SessionLock('report', options as never, noParts)
  expect(make).toThrow(InvalidArgumentError)
  expect(make).toThrow(expect.objectContaining({ option }))
})
