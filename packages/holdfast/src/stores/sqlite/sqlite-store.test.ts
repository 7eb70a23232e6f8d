import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock, systemRandomness } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { lockAddress } from '../../name.ts'
import { Attempt } from '../../store/attempt.ts'
import type { LockStore } from '../../store/contract.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteStore } from './sqlite-store.ts'

const PREFIX = 'test:v1'
const QUIET = { join: false, stands: false, yield: false }
let dir: string
let file: string
const connections: Database.Database[] = []

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  file = join(dir, 'locks.db')
})

afterEach(() => {
  for (const connection of connections.splice(0)) connection.close()
  rmSync(dir, { recursive: true })
})

function connect(options?: Database.Options): Database.Database {
  const connection = new Database(file, options)
  connections.push(connection)
  return connection
}

function open(database: SqliteDatabase): LockStore {
  return sqliteStore(database).open({ clock: systemClock, randomness: systemRandomness, prefixes: [PREFIX] })
    .locks
}

async function acquire(locks: LockStore, name: string, owner = 'owner') {
  const now = systemClock.monotonic()
  const ask = { address: lockAddress(PREFIX, name), owner, trace: null, ttl: 10_000, queue: QUIET }
  return (await locks.acquire(ask, new Attempt(now + 1_000, now + 1_000))).result
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it did not fail',
    (error: unknown) => error,
  )

describe('a database that is handed over', () => {
  test('something else is refused, and told by its name', () => {
    for (const wrong of [null, undefined, 'locks.db', {}, { prepare: () => {}, exec: () => {} }]) {
      expect(() => sqliteStore(wrong as unknown as SqliteDatabase)).toThrow(InvalidArgumentError)
    }
    const nodes = {
      prepare: () => {},
      exec: () => {},
      open: () => {},
      close: () => {},
      isOpen: true,
      isTransaction: false,
    }
    expect(() => sqliteStore(nodes as unknown as SqliteDatabase)).toThrow(
      /node:sqlite, which is not supported yet/,
    )
  })

  test('a closed one is refused, at once and when it is closed later', async () => {
    const database = connect()
    const locks = open(database)
    await acquire(locks, 'a')
    database.close()
    expect(() => sqliteStore(database)).toThrow(/is closed/)
    const failure = await failureOf(acquire(locks, 'b'))
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true })
    expect((failure as Error).cause).toBeInstanceOf(InvalidArgumentError)
  })

  test('one in a transaction is refused, at once and when one is begun later, which stays as it is', async () => {
    const database = connect()
    const locks = open(database)
    await acquire(locks, 'a')
    database.exec('BEGIN; CREATE TABLE mine (x)')
    expect(() => sqliteStore(database)).toThrow(/inside a transaction/)
    const failure = await failureOf(acquire(locks, 'b'))
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true })
    expect((failure as Error).cause).toBeInstanceOf(InvalidArgumentError)
    expect(database.inTransaction).toBe(true)
    database.exec('COMMIT')
    expect(await acquire(locks, 'b')).toMatchObject({ kind: 'granted' })
  })

  test('one that can only read is refused', () => {
    connect().exec('CREATE TABLE mine (x)')
    expect(() => sqliteStore(connect({ readonly: true }))).toThrow(/reading only/)
  })

  test('nothing is done to it before the first use', () => {
    const database = connect()
    open(database)
    expect(database.prepare('SELECT count(*) AS tables FROM sqlite_master').get()).toEqual({ tables: 0 })
  })

  test('at first use it is set to WAL, and never waits inside the driver', async () => {
    const database = connect({ timeout: 5_000 })
    await acquire(open(database), 'a')
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(database.pragma('busy_timeout', { simple: true })).toBe(0)
  })

  test('an in-memory one works, within this process', async () => {
    const database = new Database(':memory:')
    connections.push(database)
    const store = sqliteStore(database)
    const context = { clock: systemClock, randomness: systemRandomness, prefixes: [PREFIX] }
    const [one, two] = [store.open(context).locks, store.open(context).locks]
    expect(await acquire(one, 'a', 'x')).toMatchObject({ kind: 'granted' })
    expect(await acquire(two, 'a', 'y')).toMatchObject({ kind: 'busy', holder: { owner: 'x' } })
  })

  test('one that gives integers as bigint works', async () => {
    const database = connect().defaultSafeIntegers()
    const locks = open(database)
    const granted = await acquire(locks, 'a', 'x')
    expect(granted).toMatchObject({ kind: 'granted', again: false })
    expect(await acquire(locks, 'a', 'x')).toEqual({ ...granted, again: true })
    expect(await acquire(locks, 'a', 'y')).toMatchObject({ kind: 'busy', holder: { owner: 'x' } })
  })
})

describe('the tables', () => {
  test("another's table of our name is refused and named, and left as it is", async () => {
    const database = connect()
    database.exec(
      "CREATE TABLE holdfast_lock (id INTEGER, note TEXT); INSERT INTO holdfast_lock VALUES (1, 'mine')",
    )
    const failure = await failureOf(acquire(open(database), 'a'))
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final: true, reason: 'SCHEMA' })
    expect((failure as Error).message).toContain(
      '"holdfast_lock" in the database is another\'s: a table of (id INTEGER, note TEXT)',
    )
    expect(database.prepare('SELECT * FROM holdfast_lock').all()).toEqual([{ id: 1, note: 'mine' }])
    expect(
      database.prepare("SELECT name FROM sqlite_master WHERE name = 'holdfast_last_fence'").all(),
    ).toEqual([])
  })

  test('a view of our name is refused', async () => {
    const database = connect()
    database.exec('CREATE VIEW holdfast_queue AS SELECT 1 AS x')
    expect(await failureOf(acquire(open(database), 'a'))).toMatchObject({ reason: 'SCHEMA' })
  })

  test('those of a later version are refused, and left as they are', async () => {
    const database = connect()
    await acquire(open(database), 'a')
    database.exec("UPDATE holdfast_meta SET value = '2'")
    const failure = await failureOf(acquire(open(connect()), 'b'))
    expect((failure as Error).message).toContain('are of schema 2')
    expect(database.prepare('SELECT value FROM holdfast_meta').get()).toEqual({ value: '2' })
  })

  test('tables dropped while the store is open are made anew, and fences rise', async () => {
    const database = connect()
    const locks = open(database)
    const before = await acquire(locks, 'a', 'x')
    connect().exec('DROP TABLE holdfast_lock; DROP TABLE holdfast_last_fence')
    expect(await failureOf(acquire(locks, 'a', 'y'))).toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      final: false,
    })
    // With the last fence gone only the clock tells, in whole milliseconds.
    for (const at = systemClock.wall(); systemClock.wall() === at;) await new Promise(setImmediate)
    const after = await acquire(locks, 'a', 'y')
    expect(after.kind === 'granted' && before.kind === 'granted' && after.fence > before.fence).toBe(true)
  })

  test('numbers are kept as integers, whole', async () => {
    const database = connect()
    const granted = await acquire(open(database), 'a')
    const row = database
      .prepare('SELECT typeof(fence) AS type, fence FROM holdfast_lock')
      .safeIntegers()
      .get()
    expect(row).toEqual({ type: 'integer', fence: granted.kind === 'granted' ? granted.fence : null })
    expect(database.prepare('SELECT typeof(last) AS type FROM holdfast_last_fence').get()).toEqual({
      type: 'integer',
    })
  })
})

describe('a file that goes away while it is open', () => {
  test.each(['deleted', 'replaced'])(
    '%s: nothing is granted or renewed in what is left of it',
    async (how) => {
      const locks = open(connect())
      expect(await acquire(locks, 'a')).toMatchObject({ kind: 'granted' })
      for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
      if (how === 'replaced')
        expect(await acquire(open(connect()), 'a', 'another')).toMatchObject({ kind: 'granted' })
      expect(await failureOf(acquire(locks, 'b'))).toMatchObject({
        kind: 'refused',
        outcome: 'not-done',
        final: true,
        reason: 'SQLITE_READONLY_DBMOVED',
      })
    },
  )

  test('one in memory has no file to lose', async () => {
    const database = new Database(':memory:')
    connections.push(database)
    expect(await acquire(open(database), 'a')).toMatchObject({ kind: 'granted' })
  })
})
