import Database from 'better-sqlite3'
import { sqliteStore } from 'holdfast/sqlite'
import { Attempt, limitAddress, systemClock, systemRandomness } from 'holdfast/testing'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { spawnWorker, type Worker } from '../../src/index.ts'
import { LIMITER, policies, PREFIX } from './limit-sqlite-policies.ts'

const WORKER = new URL('./limit-sqlite-worker.ts', import.meta.url)
const LIMIT = 5
const PROCESSES = 4
let dir: string
let workers: Worker[]

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-limits-'))
  workers = await Promise.all(Array.from({ length: PROCESSES }, () => spawnWorker(WORKER)))
})

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  rmSync(dir, { recursive: true })
})

describe('SQLite limit store, several processes', () => {
  test('E25: 1000 parallel takes by four processes at limit 5: exactly 5 pass, under every kind of policy', async () => {
    for (const { kind } of policies(LIMIT)) {
      const admitted = await Promise.all(
        workers.map((worker) => worker.call<number>('takes', dir, kind, 1_000 / PROCESSES)),
      )
      expect(
        admitted.reduce((sum, count) => sum + count, 0),
        kind,
      ).toBe(LIMIT)
    }
  })

  test('what was counted outlives the process that counted it, killed at once', async () => {
    const [worker] = workers
    expect(await worker?.call<number>('takes', dir, 'sliding-window', LIMIT)).toBe(LIMIT)
    await worker?.kill()
    const database = new Database(join(dir, 'limits.db'))
    const store = sqliteStore(database).open({
      clock: systemClock,
      randomness: systemRandomness,
      prefixes: [PREFIX],
    })
    const ask = {
      address: limitAddress(PREFIX, LIMITER, 'sliding-window'),
      policies: policies(LIMIT).filter(({ kind }) => kind === 'sliding-window'),
      cost: 1,
    }
    const attempt = new Attempt(systemClock.monotonic() + 5_000, systemClock.monotonic() + 5_000)
    expect((await store.limits.peek(ask, attempt)).result).toMatchObject({ allowed: false })
    await store.close()
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    database.close()
  })
})
