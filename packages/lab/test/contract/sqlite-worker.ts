import Database from 'better-sqlite3'
import { sqliteStore, type SqliteDatabase } from 'holdfast/sqlite'
import { Attempt, lockAddress, systemClock, systemRandomness } from 'holdfast/testing'
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveWorker, tell } from '../../src/servers/worker-side.ts'

const PREFIX = 'processes:v1'
const QUIET = { join: false, stands: false, yield: false }
const address = lockAddress(PREFIX, 'one lock for all')

/** A grant as its holder saw it; milliseconds of the machine's monotonic clock, which all processes share. */
export interface Grant {
  readonly fence: string
  readonly from: number
  readonly to: number
}

const machineTime = (): number => Number(process.hrtime.bigint()) / 1e6

function open(database: SqliteDatabase) {
  const { locks } = sqliteStore(database).open({
    clock: systemClock,
    randomness: systemRandomness,
    prefixes: [PREFIX],
  })
  let count = 0
  const owner = (): string => `${locks.process}${String((count += 1)).padStart(8, '0')}@worker:${process.pid}`
  const attempt = (): Attempt =>
    new Attempt(systemClock.monotonic() + 20_000, systemClock.monotonic() + 20_000)
  return {
    owner,
    acquire: async (by: string, ttl: number) => {
      const ask = { address, owner: by, trace: null, ttl, queue: QUIET }
      return (await locks.acquire(ask, attempt())).result
    },
    release: async (by: string) => (await locks.release({ address, owner: by }, attempt())).result,
  }
}

/** Enters what only one may be in: a file that must not be there yet, and a number that is read, and written later. */
async function criticalWork(dir: string): Promise<void> {
  const mark = `${dir}/inside`
  // Fails when another is inside.
  closeSync(openSync(mark, 'wx'))
  const before = Number(readFileSync(`${dir}/count`, 'utf8'))
  await sleep(1)
  writeFileSync(`${dir}/count`, String(before + 1))
  unlinkSync(mark)
}

/** Acquires by asking again and again, works, releases; `times` times. Tells each grant. */
async function cycle(dir: string, times: number, ttl: number): Promise<Grant[]> {
  const { acquire, release, owner } = open(new Database(`${dir}/locks.db`))
  const grants: Grant[] = []
  while (grants.length < times) {
    const by = owner()
    const result = await acquire(by, ttl)
    if (result.kind !== 'granted') {
      await sleep(Math.random() * 4)
      continue
    }
    const from = machineTime()
    tell('granted', String(result.fence))
    await criticalWork(dir)
    grants.push({ fence: String(result.fence), from, to: machineTime() })
    const released = await release(by)
    if (released.kind !== 'released') throw new Error(`the release was answered ${released.kind}`)
  }
  return grants
}

/** Dies by its own hand between the grant and the end of its transaction. */
async function dieInCommit(dir: string): Promise<void> {
  const database = new Database(`${dir}/locks.db`)
  const { acquire, release, owner } = open(dyingInCommit(database, () => dying))
  let dying = false
  const by = owner()
  await acquire(by, 600_000)
  await release(by)
  dying = true
  await acquire(owner(), 600_000)
}

function dyingInCommit(database: Database.Database, dying: () => boolean): SqliteDatabase {
  return {
    open: true,
    readonly: false,
    get inTransaction() {
      return database.inTransaction
    },
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql)
      const run = (...parameters: unknown[]): unknown => {
        if (sql === 'COMMIT' && dying()) process.kill(process.pid, 'SIGKILL')
        return statement.run(...parameters)
      }
      return { run, get: (...p) => statement.get(...p), all: (...p) => statement.all(...p) }
    },
  }
}

let rival: Database.Database | undefined

/** Takes the write lock of the database, as a long transaction of somebody else's, until `letGo`. */
function keepBusy(dir: string): void {
  rival ??= new Database(`${dir}/locks.db`)
  rival.exec('BEGIN IMMEDIATE')
}

function letGo(): void {
  rival?.exec('COMMIT')
}

serveWorker({ cycle, dieInCommit, keepBusy, letGo })
