import { LockLostError } from 'holdfast'
import { postgresSessionLock } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startPostgres, waitFor, type PostgresServer } from '../../src/index.ts'

/**
 * Goal: a session lock excludes, is waited for, and its loss is told at once. Method: two pools; the connection of a holder is ended, and the
 * server is stopped.
 */

let server: PostgresServer
let one: Pool
let two: Pool
let name: string
let names = 0

beforeAll(async () => {
  server = await startPostgres()
  one = new Pool({ connectionString: server.url, max: 4 })
  two = new Pool({ connectionString: server.url, max: 4 })
  for (const pool of [one, two]) pool.on('error', () => undefined)
})
afterAll(async () => {
  await Promise.all([one.end(), two.end()])
  await server.stop()
})
beforeEach(() => {
  names += 1
  name = `lock ${names}`
})

test('it excludes, also those who use the same advisory lock by themselves, and is free again when it is given back', async () => {
  const held = await postgresSessionLock(one, name).acquire()
  expect(await postgresSessionLock(two, name).tryAcquire()).toBeNull()
  const foreign = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS got'
  expect((await two.query(foreign, [name])).rows).toEqual([{ got: false }])
  expect(await held.release()).toEqual({ released: true, confirmed: true })
  expect(() => held.assertHeld()).toThrow(LockLostError)
  expect((await two.query(foreign, [name])).rows).toEqual([{ got: true }])
  expect(one.idleCount).toBe(one.totalCount)
})

test('a waiter gets it when it is given back; one that waited too long is told; an aborted one leaves its connection', async () => {
  const held = await postgresSessionLock(one, name).acquire()
  const waiting = postgresSessionLock(two, name).acquire({ wait: '10s' })
  await expect(postgresSessionLock(two, name).acquire({ wait: 50 })).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
  })
  const controller = new AbortController()
  const aborted = postgresSessionLock(two, name).acquire({ wait: '10s', signal: controller.signal })
  controller.abort(new Error('gone'))
  await expect(aborted).rejects.toThrow('gone')
  await held.release()
  const next = await waiting
  expect(next.lost).toBeNull()
  await next.release()
  await waitFor(() => two.idleCount === two.totalCount, { what: 'all connections to be given back' })
})

test('loss of the connection is loss of the lock: told at once, and free for others', async () => {
  const lock = postgresSessionLock(one, name)
  const lost = lock.run(async (held) => {
    await two.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted`)
    await waitFor(() => held.signal.aborted, { what: 'the loss', within: 1_000 })
    expect(held.lost).toBe('missing')
    expect(() => held.assertHeld()).toThrow(LockLostError)
    const next = await postgresSessionLock(two, name).acquire()
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
  const held = await postgresSessionLock(one, name, { check: '100ms' }).acquire()
  await server.pause()
  try {
    await waitFor(() => held.signal.aborted, { what: 'the loss', within: 2_000 })
    expect(held.lost).toBe('unreachable')
    expect(await held.release()).toEqual({ released: false, reason: 'unreachable' })
  } finally {
    server.resume()
  }
})

test('what is no pool of pg, and wrong options, are refused before anything is sent', () => {
  expect(() => postgresSessionLock({} as Pool, name)).toThrow('pool')
  expect(() => postgresSessionLock(one, '')).toThrow('name')
  expect(() => postgresSessionLock(one, name, { check: '1ms' })).toThrow('check')
})
