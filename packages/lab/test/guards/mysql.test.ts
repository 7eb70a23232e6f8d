import { StaleFenceError } from 'holdfast'
import { mysqlFence } from 'holdfast/mysql'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mysqlUrlOrStart, type MysqlServer, type SqlToUse } from '../../src/index.ts'
import { guardSuite } from './support/guard-suite.ts'
import { mysqlCallbackScene, mysqlScene } from './support/scenes.ts'

let mysql: SqlToUse<MysqlServer>
beforeAll(async () => {
  mysql = await mysqlUrlOrStart()
})
afterAll(() => mysql.stop())

guardSuite('mysql2 promise', () => mysqlScene(mysql.url))
guardSuite('mysql2 callback', () => mysqlCallbackScene(mysql.url))

test('a stale fence is told from the business condition in an old snapshot, too', async () => {
  const [old, other] = [await createConnection(mysql.url), await createConnection(mysql.url)]
  const table = 'stock_of_an_old_snapshot'
  try {
    await other.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, fence BIGINT NOT NULL) ENGINE=InnoDB`)
    await other.query(`INSERT INTO ${table} VALUES (1, 0)`)
    await old.beginTransaction()
    await old.query(`SELECT * FROM ${table}`)
    await other.query(`UPDATE ${table} SET fence = 7`)
    const column = mysqlFence().column(5n)
    const result = await old.query(`UPDATE ${table} SET ${column.set} WHERE id = 1 AND ${column.where}`)
    const outcome = column.outcome(old, result, { table, where: 'id = 1' })
    await expect(outcome).rejects.toBeInstanceOf(StaleFenceError)
  } finally {
    await old.rollback()
    await other.query(`DROP TABLE ${table}`)
    await Promise.all([old.end(), other.end()])
  }
})
