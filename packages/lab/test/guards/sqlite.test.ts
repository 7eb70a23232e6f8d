import { join } from 'node:path'
import Database from 'better-sqlite3'
import { StaleFenceError } from 'holdfast'
import { sqliteFence } from 'holdfast/sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { ownFolder, removeFolder } from '../../src/index.ts'
import { guardSuite } from './support/guard-suite.ts'
import { sqliteScene } from './support/scenes.ts'

const folder = ownFolder('guards')
afterAll(() => removeFolder(folder))

guardSuite('sqlite', () => sqliteScene(join(folder, 'shop.db')))

describe('guards: sqlite, in a synchronous transaction', () => {
  test('a refusal rolls the transaction back', () => {
    const db = new Database(':memory:')
    const guard = sqliteFence()
    guard.migrate(db)
    db.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)')
    const pay = db.transaction((fence: bigint, state: string) => {
      db.prepare('INSERT OR REPLACE INTO orders VALUES (1, ?)').run(state)
      guard.check(db, 'order:1', fence)
    })
    pay.immediate(7n, 'paid')
    expect(() => pay.immediate(6n, 'cancelled')).toThrow(StaleFenceError)
    expect(db.prepare('SELECT state FROM orders').pluck().get()).toBe('paid')
    db.close()
  })

  test('an object that cannot tell whether it is in a transaction is refused', () => {
    const db = { prepare: () => ({}), exec: () => {} }
    expect(() => sqliteFence().check(db as never, 'r', 5n)).toThrow('is not a SQLite database that we know')
  })
})
