import Database from 'better-sqlite3'
import { sqliteStore } from 'holdfast/sqlite'
import { Attempt, lockAddress, systemClock, systemRandomness } from 'holdfast/testing'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sleep, spawnWorker, type Worker } from '../../src/index.ts'
import type { Grant } from './sqlite-worker.ts'

const WORKER = new URL('./sqlite-worker.ts', import.meta.url)
const PREFIX = 'processes:v1'
const QUIET = { join: false, stands: false, yield: false }
let dir: string
let workers: Worker[]
let databases: Database.Database[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-processes-'))
  writeFileSync(join(dir, 'count'), '0')
  workers = []
  databases = []
})

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  for (const database of databases) database.close()
  rmSync(dir, { recursive: true })
})

async function startWorker(): Promise<Worker> {
  const worker = await spawnWorker(WORKER)
  workers.push(worker)
  return worker
}

function openHere() {
  const database = new Database(join(dir, 'locks.db'))
  databases.push(database)
  const context = { clock: systemClock, randomness: systemRandomness, prefixes: [PREFIX] }
  return { database, locks: sqliteStore(database).open(context).locks }
}

type Locks = ReturnType<typeof openHere>['locks']
const attempt = (budget: number) =>
  new Attempt(systemClock.monotonic() + budget, systemClock.monotonic() + budget)
const acquire = async (locks: Locks, name: string, budget = 5_000) => {
  const ask = {
    address: lockAddress(PREFIX, name),
    owner: `owner of ${name}`,
    trace: null,
    ttl: 60_000,
    queue: QUIET,
  }
  return (await locks.acquire(ask, attempt(budget))).result
}

/** The grants of all processes in the order of their fences: none begins before the one in front has ended. */
function assertOneAfterAnother(grants: readonly Grant[]): void {
  const inOrder = [...grants].sort((a, b) => (BigInt(a.fence) < BigInt(b.fence) ? -1 : 1))
  inOrder.forEach((grant, i) => {
    const before = inOrder[i - 1]
    if (before === undefined) return
    expect(BigInt(grant.fence)).toBeGreaterThan(BigInt(before.fence))
    expect(grant.from).toBeGreaterThanOrEqual(before.to)
  })
}

/** The longest time in which the event loop did not turn, while `work` goes on. */
async function longestStandstill(work: () => Promise<unknown>): Promise<number> {
  let last = performance.now()
  let longest = 0
  const look = (): void => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }
  const timer = setInterval(look, 1)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  look()
  return longest
}

describe('SQLite store, several processes', () => {
  test('four processes never hold at once, and their fences rise in the order of their grants', async () => {
    const [times, count] = [60, 4]
    for (let i = 0; i < count; i += 1) await startWorker()
    const grants = await Promise.all(
      workers.map((worker) => worker.call<Grant[]>('cycle', dir, times, 60_000)),
    )
    assertOneAfterAnother(grants.flat())
    expect(Number(readFileSync(join(dir, 'count'), 'utf8'))).toBe(times * count)
  })

  test('a process killed between grant and commit leaves nothing behind', async () => {
    const worker = await startWorker()
    const { database, locks } = openHere()
    const before = await acquire(locks, 'another lock')
    await expect(worker.call('dieInCommit', dir)).rejects.toThrow()
    expect((await worker.exited).signal).toBe('SIGKILL')
    const after = await acquire(locks, 'one lock for all')
    expect(after.kind === 'granted' && before.kind === 'granted' && after.fence > before.fence).toBe(true)
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  })

  test('processes killed at any moment: their leases end by themselves, fences rise, the file stays whole', async () => {
    const ttl = 300
    const fences: bigint[] = []
    for (let round = 0; round < 6; round += 1) {
      const worker = await startWorker()
      const work = worker.call('cycle', dir, 1_000, ttl).catch(() => {})
      const first = await worker.next<string>('granted', { within: ttl * 10 })
      await sleep(Math.random() * 60)
      await worker.kill()
      await work
      // It may have died inside, and then the mark of its work is still there.
      rmSync(join(dir, 'inside'), { force: true })
      const told = worker.events
        .filter(({ event }) => event === 'granted')
        .map(({ data }) => BigInt(data as string))
      expect(told[0]).toBe(BigInt(first))
      fences.push(...told)
    }
    expect(fences).toEqual([...fences].sort((a, b) => (a < b ? -1 : 1)))
    expect(new Set(fences).size).toBe(fences.length)
    expect(openHere().database.pragma('integrity_check', { simple: true })).toBe('ok')
  })

  test("another's long transactions delay us, within the budget, and never block our event loop", async () => {
    const { locks } = openHere()
    await acquire(locks, 'set up')
    const rival = await startWorker()
    const busyFor = 600
    const standstill = await longestStandstill(async () => {
      for (let round = 0; round < 3; round += 1) {
        await rival.call('keepBusy', dir)
        let granted = 0
        const all = Array.from({ length: 20 }, async (_, n) => {
          if ((await acquire(locks, `${round} ${n}`)).kind === 'granted') granted += 1
        })
        await sleep(busyFor)
        expect(granted).toBe(0)
        await rival.call('letGo')
        await Promise.all(all)
        expect(granted).toBe(20)
      }
    })
    // A driver that waits would stand still for as long as the other is busy; less than that is a loaded machine's.
    expect(standstill).toBeLessThan(busyFor / 2)
  })

  test('a transaction longer than the budget is told as busy, in time', async () => {
    const { locks } = openHere()
    await acquire(locks, 'set up')
    const rival = await startWorker()
    await rival.call('keepBusy', dir)
    const began = performance.now()
    await expect(acquire(locks, 'a', 300)).rejects.toMatchObject({
      kind: 'refused',
      outcome: 'not-done',
      reason: 'SQLITE_BUSY',
    })
    expect(performance.now() - began).toBeLessThan(1_300)
    await rival.call('letGo')
    expect((await acquire(locks, 'a')).kind).toBe('granted')
  })
})
