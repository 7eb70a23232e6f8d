import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bounds } from '../../defaults.ts'
import { lockAddress } from '../../name.ts'
import { LockRules } from '../../store/lock-rules.ts'
import { ensureSchema } from './schema.ts'
import { SqliteTables } from './sqlite-tables.ts'

let database: Database.Database

beforeEach(() => {
  database = new Database(':memory:')
  ensureSchema(database)
})

afterEach(() => {
  database.close()
})

const count = (table: string): unknown => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get()

describe('SqliteTables', () => {
  test("the clock is the machine's wall clock, in whole milliseconds", () => {
    const tables = new SqliteTables(database)
    for (let i = 0; i < 200; i += 1) {
      const before = Date.now()
      const { now, nowMicros } = tables.begin()
      expect(Number.isInteger(now)).toBe(true)
      expect(now).toBeGreaterThanOrEqual(before - 1)
      expect(now).toBeLessThanOrEqual(Date.now() + 1)
      expect(nowMicros).toBe(now * 1_000)
    }
  })

  test('leases that are over are swept by writes, those that live are not', () => {
    const tables = new SqliteTables(database)
    const { now } = tables.begin()
    const lease = (expires: number) => ({ owner: 'x', fence: 1, trace: null, expires })
    for (let i = 0; i < 1_000; i += 1) tables.setLease(`dead ${i}`, lease(now - 1))
    for (let i = 0; i < 10; i += 1) tables.setLease(`live ${i}`, lease(now + 60_000))
    for (let i = 0; i < 1_000; i += 1) {
      tables.begin()
      tables.setLease('written', lease(now + 60_000))
      tables.sweep()
    }
    expect(count('holdfast_lock')).toBe(11)
  })

  test('a sweep looks at no more rows than a few for each that was written, and at none without', () => {
    const tables = new SqliteTables(database)
    const { now } = tables.begin()
    for (let i = 0; i < 100; i += 1)
      tables.setLease(`dead ${i}`, { owner: 'x', fence: 1, trace: null, expires: now - 1 })
    tables.begin()
    tables.sweep()
    expect(count('holdfast_lock')).toBe(100)
    tables.begin()
    tables.setLease('written', { owner: 'x', fence: 1, trace: null, expires: now + 60_000 })
    tables.sweep()
    expect(count('holdfast_lock')).toBe(99)
  })

  test('waiters that died are swept by waiters of other locks', () => {
    const tables = new SqliteTables(database)
    const { now } = tables.begin()
    const entry = (beat: number) => ({ process: 'p', place: now, beat, woken: false })
    for (let i = 0; i < 200; i += 1) tables.setWaiter(`queue ${i}`, entry(now - bounds.waiterDeadAfter - 1))
    for (let i = 0; i < 200; i += 1) {
      tables.begin()
      tables.setWaiter('another queue', entry(now))
      tables.sweep()
    }
    expect(count('holdfast_queue')).toBe(1)
  })
})

describe('turns, where nobody can be woken', () => {
  const address = lockAddress('test:v1', 'a')

  /** Releases a lock beside which another process has stood for so long. */
  function releaseBeside(stood: number, process = 'other') {
    const tables = new SqliteTables(database).begin()
    const rules = new LockRules(tables, 'us', null)
    const queue = { join: false, stands: false, yield: false }
    rules.acquire({ address, owner: 'x', trace: null, ttl: 60_000, queue }, false)
    tables.setWaiter(address.queueKey, { process, place: tables.now - stood, beat: tables.now, woken: false })
    return rules.release({ address, owner: 'x' })
  }

  test('who has just come is not waited for: a lock would stand idle until it asks', () => {
    expect(releaseBeside(400)).toEqual({ kind: 'released', wokeOther: false })
  })

  test('who has stood for half a second is next', () => {
    expect(releaseBeside(600)).toEqual({ kind: 'released', wokeOther: true })
  })

  test('our own process is never waited for', () => {
    expect(releaseBeside(600, 'us')).toEqual({ kind: 'released', wokeOther: false })
  })
})
