import { LockLostError } from 'holdfast'
import { postgresSessionLock } from 'holdfast/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startPostgres, waitFor, type PostgresServer } from '../../src/index.ts'
import { sessionLockSuite } from '../support/session-lock-suite.ts'

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

sessionLockSuite({
  lock: (by, options) => postgresSessionLock(by === 'one' ? one : two, name, options),
  killHolder: () =>
    two.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted`),
  allGivenBack: () =>
    waitFor(() => two.idleCount === two.totalCount, { what: 'all connections to be given back' }),
  server: () => server,
})

test('what is no pool of pg, and wrong options, are refused before anything is sent', () => {
  expect(() => postgresSessionLock({} as Pool, name)).toThrow('pool')
  expect(() => postgresSessionLock(one, '')).toThrow('name')
  expect(() => postgresSessionLock(one, name, { check: '1ms' })).toThrow('check')
})
