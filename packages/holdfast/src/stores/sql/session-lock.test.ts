import { expect, test } from 'vitest'
import { InvalidArgumentError, LockLostError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { SessionLock, type LockSession } from './session-lock.ts'

/** Goal: what is wrong is refused before a connection is taken, by its name; a lock that was not held to the end is not passed over; and nobody waits for ever. */

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

function lockOver(giveBack: LockSession['giveBack']): SessionLock {
  const session: LockSession = {
    take: () => Promise.resolve(true),
    giveBack,
    check: () => Promise.resolve(),
    onLost: () => undefined,
    close: () => undefined,
  }
  return new SessionLock(
    'report',
    {},
    {
      clock: new VirtualClock(),
      connect: () => Promise.resolve(session),
      failureOf: (cause) =>
        new StoreFailure('no', { kind: 'refused', outcome: 'not-done', final: true, reason: 'no', cause }),
    },
  )
}

test('a run whose lock turns out not to be held when it is given back is lost, with what the work returned', async () => {
  const error: unknown = await lockOver(() => Promise.resolve(false))
    .run(() => 'written')
    .catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(LockLostError)
  expect(error).toMatchObject({ reason: 'missing', work: { value: 'written' } })
})

test('an error of the work is told rather than such a loss', async () => {
  const run = lockOver(() => Promise.resolve(false)).run(() => Promise.reject(new Error('of the work')))
  await expect(run).rejects.toThrow('of the work')
})

test.each([
  ['was given back', () => Promise.resolve(true)],
  ['ended with its connection, which failed', () => Promise.reject(new Error('gone'))],
])('a run whose lock %s gives what the work returned', async (_how, giveBack) => {
  expect(await lockOver(giveBack).run(() => 'written')).toBe('written')
})

test('what the work gives back itself is not lost', async () => {
  let held = true
  const lock = lockOver(() => Promise.resolve(held && !(held = false)))
  expect(await lock.run(async (hold) => (await hold.release()).released)).toBe(true)
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

// As the stand-ins for AbortController are that know no newer methods.
test.each([
  [false, 'written'],
  [true, 'gone'],
])('a signal without throwIfAborted will do, aborted: %s', async (aborted, expected) => {
  const ignore = (): void => undefined
  const signal = { aborted, reason: 'gone', addEventListener: ignore, removeEventListener: ignore } as never
  const run = lockOver(() => Promise.resolve(true)).run(() => 'written', { signal })
  expect(await run.catch((reason: unknown) => reason)).toBe(expected)
})
