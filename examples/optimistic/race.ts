/**
 * Races all of them: `node … race.ts FILE` in several processes at once, over one SQLite file. Each tries everything 25 times and prints
 * what came of it, as JSON; `node … race.ts FILE result` prints what stands in the tables.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { createHoldfast } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { takeCoupon } from './atomic-statement.ts'
import { overwriteDocument } from './naive.ts'
import { register } from './unique-constraint.ts'
import { editDocument } from './version-column.ts'
import { editAlone } from './with-lock.ts'

const TRIES = 25
const [, , file = 'race.db', what] = process.argv

const database = new Database(file)
database.pragma('journal_mode = WAL')
database.exec(`
  CREATE TABLE IF NOT EXISTS coupons (id TEXT PRIMARY KEY, left_over INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS seats (event TEXT, user TEXT, PRIMARY KEY (event, user));
  CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, text TEXT NOT NULL DEFAULT '', version INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0
  );
  INSERT OR IGNORE INTO coupons VALUES ('spring', 60);
  INSERT OR IGNORE INTO documents (id) VALUES ('naive'), ('versioned'), ('locked');`)

if (what === 'result') console.log(JSON.stringify(result()))
else await race()
database.close()

function result() {
  const text = database.prepare('SELECT length(text) FROM documents WHERE id = ?').pluck()
  return {
    coupons: database.prepare('SELECT left_over FROM coupons').pluck().get(),
    seats: database.prepare('SELECT count(*) FROM seats').pluck().get(),
    naive: text.get('naive'),
    versioned: text.get('versioned'),
    locked: text.get('locked'),
  }
}

async function race(): Promise<void> {
  const locks = new Database(`${file}.locks`)
  const holdfast = createHoldfast({ store: sqliteStore(locks), prefix: 'optimistic' })
  // Everybody appends one letter, after some thought.
  const edit = async (text: string) => {
    await sleep(2)
    return `${text}x`
  }
  let coupons = 0
  let seats = 0
  for (let n = 0; n < TRIES; n += 1) {
    if (takeCoupon(database, 'spring')) coupons += 1
    // All processes register the same users.
    if (register(database, 'concert', `user-${n}`)) seats += 1
    await overwriteDocument(database, 'naive', edit)
    await editDocument(database, 'versioned', edit)
    await editAlone(holdfast, database, 'locked', edit)
  }
  await holdfast.close()
  locks.close()
  console.log(JSON.stringify({ coupons, seats }))
}
