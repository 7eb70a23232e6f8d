import { LockLostError } from 'holdfast'
import type { postgresSessionLock } from 'holdfast/postgres'
import { expect, test } from 'vitest'
import { waitFor } from '../../src/index.ts'

type Open = typeof postgresSessionLock
type Options = Parameters<Open>[2]

/** A database with session locks, and two processes at it. */
export interface SessionLockBench {
  /** The lock under test, as one of the two processes opens it. */
  lock(by: 'one' | 'two', options?: Options): ReturnType<Open>
  /** Ends the connection that holds the lock under test, by way of the second process. */
  killHolder(): Promise<unknown>
  /** Rejects where connections were kept that must have been given back; where that can be seen. */
  allGivenBack?(): Promise<unknown>
  readonly server: () => { pause(): Promise<void>; resume(): void }
}

/** What is the same over every database. */
export function sessionLockSuite({ lock, killHolder, allGivenBack, server }: SessionLockBench): void {
  test('a waiter gets it when it is given back; one that waited too long is told; an aborted one leaves', async () => {
    const held = await lock('one').acquire()
    const waiting = lock('two').acquire({ wait: '10s' })
    await expect(lock('two').acquire({ wait: 50 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    const controller = new AbortController()
    const aborted = lock('two').acquire({ wait: '10s', signal: controller.signal })
    controller.abort(new Error('gone'))
    await expect(aborted).rejects.toThrow('gone')
    await held.release()
    const next = await waiting
    expect(next.lost).toBeNull()
    await next.release()
    await allGivenBack?.()
  })

  test('loss of the connection is loss of the lock: told at once, and free for others', async () => {
    const lost = lock('one').run(async (held) => {
      await killHolder()
      await waitFor(() => held.signal.aborted, { what: 'the loss', within: 1_000 })
      expect(held.lost).toBe('missing')
      expect(() => held.assertHeld()).toThrow(LockLostError)
      const next = await lock('two').acquire()
      await next.release()
      return 'worked on'
    })
    await expect(lost).rejects.toMatchObject({
      code: 'LOCK_LOST',
      reason: 'missing',
      work: { value: 'worked on' },
    })
  })

  test('a server that does not answer: lost within two checks', async () => {
    const held = await lock('one', { check: '100ms' }).acquire()
    await server().pause()
    try {
      await waitFor(() => held.signal.aborted, { what: 'the loss', within: 2_000 })
      expect(held.lost).toBe('unreachable')
      expect(await held.release()).toEqual({ released: false, reason: 'unreachable' })
    } finally {
      server().resume()
    }
  })
}
