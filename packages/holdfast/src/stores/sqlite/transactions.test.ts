import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listen, type HoldfastEvents } from '../../events/channels.ts'
import { lockAddress } from '../../name.ts'
import { Attempt } from '../../store/attempt.ts'
import type { LockStore, OpenStore } from '../../store/contract.ts'
import { seededRandomness } from '../../testing/seeded-randomness.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { SqliteDatabase, SqliteStatement } from './database.ts'
import { sqliteStore } from './sqlite-store.ts'

const PREFIX = 'test:v1'
const QUIET = { join: false, stands: false, yield: false }
const BUDGET = 1_000
let dir: string
let clock: VirtualClock
let database: Database.Database
let rival: Database.Database
let opened: OpenStore
let locks: LockStore
/** Every statement that was run, and what to do instead of some. */
let ran: string[]
let instead: (sql: string, parameters: readonly unknown[]) => void

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-transactions-'))
  database = new Database(join(dir, 'locks.db'))
  rival = new Database(join(dir, 'locks.db'), { timeout: 0 })
  clock = new VirtualClock()
  instead = () => {}
  ran = []
  const store = sqliteStore(watched(database))
  opened = store.open({ clock, randomness: seededRandomness(1), prefixes: [PREFIX] })
  locks = opened.locks
  await acquire('set up')
  await clock.settle()
  ran = []
})

afterEach(() => {
  database.close()
  rival.close()
  rmSync(dir, { recursive: true })
})

/** The database, with an ear on what is run. */
function watched(inner: Database.Database): SqliteDatabase {
  const note = (sql: string, parameters: readonly unknown[] = []): void => {
    ran.push(sql)
    instead(sql, parameters)
  }
  const prepare = (sql: string): SqliteStatement => {
    const statement = inner.prepare(sql)
    const noting =
      <A extends unknown[], R>(method: (...parameters: A) => R) =>
      (...parameters: A): R => {
        note(sql, parameters)
        return method.apply(statement, parameters)
      }
    return { run: noting(statement.run), get: noting(statement.get), all: noting(statement.all) }
  }
  return {
    get open() {
      return inner.open
    },
    get readonly() {
      return inner.readonly
    },
    get inTransaction() {
      return inner.inTransaction
    },
    prepare,
    exec: (sql) => {
      note(sql)
      return inner.exec(sql)
    },
  }
}

const newAttempt = (validFor = BUDGET): Attempt =>
  new Attempt(clock.monotonic() + BUDGET, clock.monotonic() + validFor)

async function acquire(name: string, attempt = newAttempt(), owner = 'owner') {
  const ask = { address: lockAddress(PREFIX, name), owner, trace: null, ttl: 10_000, queue: QUIET }
  return (await locks.acquire(ask, attempt)).result
}

const release = (name: string) =>
  locks.release({ address: lockAddress(PREFIX, name), owner: 'owner' }, newAttempt())
const held = (name: string): boolean =>
  rival.prepare('SELECT 1 FROM holdfast_lock WHERE key = ?').get(lockAddress(PREFIX, name).key) !== undefined
const transactions = (): number => ran.filter((sql) => sql === 'BEGIN IMMEDIATE').length
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it did not fail',
    (error: unknown) => error,
  )
const sqliteError = (code: string): Error => Object.assign(new Error(`as if ${code}`), { code })

/** Fails the next statements that begin so, `times` of them. */
function failNext(start: string, error: Error, times = 1, before: () => void = () => {}): void {
  let left = times
  instead = (sql) => {
    if (left === 0 || !sql.startsWith(start)) return
    left -= 1
    before()
    throw error
  }
}

describe('gathering', () => {
  test('a lone operation is done before its call returns', () => {
    void acquire('a')
    expect(held('a')).toBe(true)
  })

  test('those that come in one turn share a transaction, behind the first', async () => {
    const results = await Promise.all(Array.from({ length: 41 }, (_, i) => acquire(`name ${i}`)))
    expect(results.every(({ kind }) => kind === 'granted')).toBe(true)
    expect(transactions()).toBe(2)
  })

  test('no transaction is longer than its bound', async () => {
    await Promise.all(Array.from({ length: 1 + 64 + 64 + 1 }, (_, i) => acquire(`name ${i}`)))
    expect(transactions()).toBe(4)
  })

  test('a statement is prepared once', async () => {
    let prepared = 0
    const counting: SqliteDatabase = Object.create(watched(rival), {
      prepare: {
        value: (sql: string) => {
          prepared += 1
          return rival.prepare(sql)
        },
      },
    }) as SqliteDatabase
    const other = sqliteStore(counting).open({
      clock,
      randomness: seededRandomness(2),
      prefixes: [PREFIX],
    }).locks
    const ask = { address: lockAddress(PREFIX, 'b'), owner: 'x', trace: null, ttl: 10_000, queue: QUIET }
    await other.acquire(ask, newAttempt())
    const before = prepared
    for (let i = 0; i < 5; i += 1) await other.acquire(ask, newAttempt())
    expect(prepared).toBe(before)
  })

  test('one that fails takes no other along: the rest is repeated, each for itself', async () => {
    const bad = lockAddress(PREFIX, 'three').key
    instead = (sql, [key]) => {
      if (sql.startsWith('INSERT INTO holdfast_lock') && key === bad) throw sqliteError('SQLITE_CONSTRAINT')
    }
    const names = ['alone', 'one', 'two', 'three', 'four']
    const results = await Promise.allSettled(names.map((name) => acquire(name)))
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(names.map(held)).toEqual([true, true, true, false, true])
  })

  test('a refusal of ours concerns one operation only', async () => {
    const full = lockAddress('full:v1', 'x')
    rival.prepare('INSERT INTO holdfast_last_fence (key, last) VALUES (?, ?)').run(full.fenceKey, 2 ** 53 - 1)
    const refused = () =>
      locks.acquire({ address: full, owner: 'owner', trace: null, ttl: 10_000, queue: QUIET }, newAttempt())
    const results = await Promise.allSettled([acquire('a'), acquire('b'), refused(), acquire('c')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(results[2]).toMatchObject({
      reason: { kind: 'refused', outcome: 'not-done', final: true, reason: 'FENCELIMIT' },
    })
    expect(transactions()).toBe(2)
  })
})

describe('a busy database', () => {
  test('is tried again until it is free, in order, without blocking', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const first = acquire('a')
    const second = release('a')
    const third = acquire('a', newAttempt(), 'other')
    await clock.advance(400)
    const tries = transactions()
    expect(tries).toBeGreaterThan(10)
    expect(tries).toBeLessThan(100)
    rival.exec('COMMIT')
    await clock.advance(60)
    expect((await first).kind).toBe('granted')
    expect((await second).result.kind).toBe('released')
    expect((await third).kind).toBe('granted')
    expect(clock.pendingTimers).toBe(0)
  })

  test('is refused when the budget is over, and nothing was done or sent', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const attempt = newAttempt()
    const failure = failureOf(acquire('a', attempt))
    await clock.advance(BUDGET + 100)
    expect(await failure).toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      final: false,
      reason: 'SQLITE_BUSY',
    })
    expect(attempt.sent).toBeNull()
    expect(clock.pendingTimers).toBe(0)
    rival.exec('COMMIT')
    expect(held('a')).toBe(false)
  })

  test('each waits until its own end', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const short = failureOf(acquire('a', new Attempt(clock.monotonic() + 50, clock.monotonic() + 50)))
    const long = acquire('b')
    await clock.advance(200)
    expect(await short).toMatchObject({ reason: 'SQLITE_BUSY' })
    rival.exec('COMMIT')
    await clock.advance(60)
    expect((await long).kind).toBe('granted')
  })

  test('a grant whose time is over when the database is free again is late, and grants nothing', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const attempt = newAttempt(100)
    const result = acquire('a', attempt)
    await clock.advance(300)
    rival.exec('COMMIT')
    await clock.advance(60)
    expect((await result).kind).toBe('late')
    expect(held('a')).toBe(false)
  })

  test('a lease is counted from the try that went through', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const attempt = newAttempt()
    const result = acquire('a', attempt)
    const began = clock.monotonic()
    await clock.advance(300)
    rival.exec('COMMIT')
    await clock.advance(60)
    await result
    expect(attempt.sent?.monotonic).toBeGreaterThan(began + 299)
  })

  test('what was given up meanwhile is not sent', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const attempt = newAttempt()
    const failure = failureOf(acquire('a', attempt))
    await clock.advance(50)
    attempt.abandoned = true
    rival.exec('COMMIT')
    await clock.advance(60)
    expect(await failure).toMatchObject({ outcome: 'not-done', reason: 'abandoned' })
    expect(held('a')).toBe(false)
  })

  test('closing ends what waits and leaves no timer', async () => {
    rival.exec('BEGIN IMMEDIATE')
    const failure = failureOf(acquire('a'))
    await clock.advance(10)
    await opened.close()
    expect(await failure).toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      final: true,
      reason: 'closed',
    })
    expect(clock.pendingTimers).toBe(0)
    expect(await failureOf(acquire('b'))).toMatchObject({ reason: 'closed' })
    rival.exec('COMMIT')
  })

  test.each(['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED', 'SQLITE_PROTOCOL'])(
    '%s from the commit is rolled back and repeated',
    async (code) => {
      failNext('COMMIT', sqliteError(code), 3)
      const granted = acquire('a')
      expect(database.inTransaction).toBe(false)
      expect(held('a')).toBe(false)
      await clock.advance(200)
      expect(await granted).toMatchObject({ kind: 'granted', again: false })
      expect(transactions()).toBe(4)
    },
  )

  test('a commit that stays busy counts as nothing sent', async () => {
    failNext('COMMIT', sqliteError('SQLITE_BUSY'), Infinity)
    const attempt = newAttempt()
    const failure = failureOf(acquire('a', attempt))
    await clock.advance(BUDGET + 100)
    expect(await failure).toMatchObject({ kind: 'refused', outcome: 'not-done', reason: 'SQLITE_BUSY' })
    expect(attempt.sent).toBeNull()
  })
})

describe('a failing database', () => {
  test.each([
    ['SQLITE_FULL', false],
    ['SQLITE_IOERR_WRITE', false],
    ['SQLITE_READONLY_DBMOVED', true],
    ['SQLITE_CORRUPT', true],
    ['SQLITE_NOTADB', true],
    ['SQLITE_ERROR', true],
  ])('%s in the middle is rolled back and refused, with a remedy where there is one', async (code, final) => {
    failNext('INSERT INTO holdfast_lock', sqliteError(code))
    const failure = await failureOf(acquire('a'))
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', final, reason: code })
    if (code !== 'SQLITE_ERROR') expect((failure as { remedy: string }).remedy).not.toBe('')
    expect(database.inTransaction).toBe(false)
    expect(held('a')).toBe(false)
    await clock.settle()
    expect((await acquire('a')).kind).toBe('granted')
  })

  test('a failed commit that can be rolled back was not done', async () => {
    failNext('COMMIT', sqliteError('SQLITE_FULL'))
    expect(await failureOf(acquire('a'))).toMatchObject({ kind: 'refused', outcome: 'not-done' })
    expect(held('a')).toBe(false)
  })

  test('a failed commit that left no transaction behind is unknown', async () => {
    failNext('COMMIT', sqliteError('SQLITE_IOERR_FSYNC'), 1, () => database.exec('COMMIT'))
    expect(await failureOf(acquire('a'))).toMatchObject({ kind: 'unreachable', outcome: 'unknown' })
    expect(held('a')).toBe(true)
  })

  test('a full file is told as such by SQLite itself, and locks that are held can still be given back', async () => {
    const pages = database.pragma('page_count', { simple: true }) as number
    await acquire('held')
    database.pragma(`max_page_count = ${pages}`)
    let failure: unknown
    for (let i = 0; i < 1_000 && failure === undefined; i += 1) {
      const address = lockAddress(PREFIX, `${i} ${'x'.repeat(400)}`)
      const ask = { address, owner: 'owner', trace: 'x'.repeat(1_000), ttl: 10_000, queue: QUIET }
      await locks.acquire(ask, newAttempt()).catch((error: unknown) => (failure = error))
      await clock.settle()
    }
    expect(failure).toMatchObject({ kind: 'refused', outcome: 'not-done', reason: 'SQLITE_FULL' })
    expect((await release('held')).result.kind).toBe('released')
  })
})

test('a last fence ahead of the clock is told, once for each grant', async () => {
  const told: HoldfastEvents['holdfast:fence:leads-clock'][] = []
  const stop = listen('holdfast:fence:leads-clock', (event) => told.push(event))
  try {
    await acquire('a')
    rival.prepare('UPDATE holdfast_last_fence SET last = last + ?').run(10_000_000)
    await acquire('b')
    await acquire('b')
    rival.prepare('UPDATE holdfast_last_fence SET last = last + ?').run(3_600_000_000)
    await acquire('c')
    expect(told.map(({ lock, level }) => [lock, level])).toEqual([
      ['b', 'second'],
      ['c', 'hour'],
    ])
  } finally {
    stop()
  }
})
