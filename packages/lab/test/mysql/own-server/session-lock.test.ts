import { LockLostError } from 'holdfast'
import { mysqlFence, mysqlSessionLock } from 'holdfast/mysql'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '../../../src/index.ts'
import { sessionLockSuite } from '../../support/session-lock-suite.ts'

/**
 * Goal: a session lock excludes, is waited for, and its loss is told at once. Method: two pools; the connection of a holder is ended, and the
 * server is stopped.
 */

let server: MysqlServer
let one: Pool
let two: Pool
let name: string
let names = 0

beforeAll(async () => {
  server = await startMysql()
  one = createPool({ uri: server.url, connectionLimit: 4 })
  two = createPool({ uri: server.url, connectionLimit: 4 })
})
afterAll(async () => {
  await Promise.all([one.end(), two.end()])
  await server.stop()
})
beforeEach(() => {
  names += 1
  name = `lock ${names}`
})

test('it excludes, also those who call GET_LOCK by themselves, and is free again when it is given back', async () => {
  const held = await mysqlSessionLock(one, name).acquire()
  expect(await mysqlSessionLock(two, name).tryAcquire()).toBeNull()
  const isFree = async (): Promise<unknown> => {
    const [rows] = await two.query<RowDataPacket[]>('SELECT IS_FREE_LOCK(?) AS free', [name])
    return rows[0]?.['free']
  }
  expect(await isFree()).toBe(0)
  expect(await held.release()).toEqual({ released: true, confirmed: true })
  expect(() => held.assertHeld()).toThrow(LockLostError)
  expect(await isFree()).toBe(1)
})

test('names of any length exclude, and only each other', async () => {
  const long = name.repeat(40)
  const held = await mysqlSessionLock(one, long).acquire()
  expect(await mysqlSessionLock(two, long).tryAcquire()).toBeNull()
  const other = await mysqlSessionLock(two, `${long}.`).tryAcquire()
  expect(other).not.toBeNull()
  await other?.release()
  await held.release()
})

test('names with a NUL exclude only each other', async () => {
  const names = [`${name}\0a`, `${name}\0b`, name]
  const helds = await Promise.all(names.map((each) => mysqlSessionLock(one, each).tryAcquire()))
  expect(helds).not.toContain(null)
  expect(await mysqlSessionLock(two, `${name}\0a`).tryAcquire()).toBeNull()
  for (const held of helds) await held?.release()
})

sessionLockSuite({
  lock: (by, options) => mysqlSessionLock(by === 'one' ? one : two, name, options),
  killHolder: async () => {
    const [rows] = await two.query<RowDataPacket[]>('SELECT IS_USED_LOCK(?) AS id', [name])
    await two.query(`KILL ${rows[0]?.['id']}`)
  },
  server: () => server,
})

test('it has no fence, and a guard refuses it; what is no pool, and wrong options, are refused', async () => {
  const held = await mysqlSessionLock(one, name).acquire()
  expect(() => mysqlFence().column(held as never)).toThrow('carries no fence')
  await held.release()
  expect(() => mysqlSessionLock({} as Pool, name)).toThrow('pool')
  expect(() => mysqlSessionLock(one, '')).toThrow('name')
  expect(() => mysqlSessionLock(one, name, { check: '1ms' })).toThrow('check')
})
