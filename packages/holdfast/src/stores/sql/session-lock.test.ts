import { expect, test } from 'vitest'
import { InvalidArgumentError } from '../../errors.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { SessionLock, type LockSession } from './session-lock.ts'

/** Goal: what is wrong is refused before a connection is taken, by its name; and nobody waits for ever. */

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

// Both would be one name to the database, since half of a character is none in UTF-8.
test.each(['', 'a\ud800', 5])('%j is no name', (name) => {
  expect(() => new SessionLock(name as string, {}, noParts)).toThrow(
    expect.objectContaining({ option: 'name' }),
  )
})

test('INV-H1: a release that nobody answers ends the connection after a second, however far apart checks are', async () => {
  const clock = new VirtualClock()
  const closed: boolean[] = []
  const silent = new Promise<never>(() => undefined)
  const session: LockSession = {
    take: () => Promise.resolve(true),
    giveBack: () => silent,
    check: () => silent,
    onLost: () => undefined,
    close: (broken) => closed.push(broken),
  }
  const lock = new SessionLock(
    'report',
    { check: '10m' },
    { clock, connect: () => Promise.resolve(session), failureOf: (error) => error as never },
  )
  const held = await lock.acquire()
  const releasing = held.release()
  await clock.advance(1_000)
  expect(closed).toEqual([true])
  expect(await releasing).toEqual({ released: true, confirmed: false })
  expect(clock.pendingTimers).toBe(0)
})
