import type { IdempotencyOptions } from 'holdfast'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { spawnWorker, startRedis, type RedisServer, type Worker } from '../../src/index.ts'
import type { StoreName } from '../../src/workers/stores.ts'
import type { Ended } from './runner-worker.ts'

/**
 * Goal: over many processes a key has one effect, also when its runner is killed.
 * Method: real processes; each effect is a line in a file, written in one go.
 */

const WORKER = new URL('./runner-worker.ts', import.meta.url)
const PROCESSES = 4
const CALLS = 52
const LEASE = 1_000
/** Killed runners for each choice and store. */
const KILLS = Number(process.env['HOLDFAST_ONCE_KILLS'] ?? 3)

let server: RedisServer
let dir: string
let workers: Worker[]
/** Starts one more process like the others. */
let oneMore: () => Promise<Worker>
let prefixes = 0

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-once-'))
  workers = []
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  rmSync(dir, { recursive: true })
})

const stores: readonly (readonly [string, () => StoreName])[] = [
  ['redis', () => ({ redis: server.url })],
  ['sqlite', () => ({ sqlite: join(dir, 'once.db') })],
]

async function start(name: StoreName, count: number, options: IdempotencyOptions): Promise<void> {
  const prefix = `once${(prefixes += 1)}:v1`
  oneMore = async () => {
    const worker = await spawnWorker(WORKER)
    workers.push(worker)
    await worker.call('open', { ...name }, prefix, join(dir, 'effects'), options as never)
    return worker
  }
  await Promise.all(Array.from({ length: count }, oneMore))
}

/** Every effect of a key: the attempt under which it was made. */
function effectsOf(key: string): number[] {
  const lines = readFileSync(join(dir, 'effects'), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith(`${key} `)).map((line) => Number(line.split(' ')[1]))
}

const pay = (worker: Worker | undefined, key: string, count: number, ms: number, wait: number) => {
  if (worker === undefined) throw new Error('there is no such worker')
  return worker.call<Ended[]>('pay', key, count, ms, wait)
}

describe.each(stores)('%s', (_name, storeName) => {
  test(`F9: ${CALLS} parallel calls of one key over ${PROCESSES} processes: one effect, and all are told it`, async () => {
    await start(storeName(), PROCESSES, {})
    for (const key of ['first', 'second']) {
      const all = await Promise.all(workers.map((worker) => pay(worker, key, CALLS / PROCESSES, 100, 20_000)))
      const ended = all.flat() as { value: string; replayed: boolean }[]
      expect(effectsOf(key)).toEqual([1])
      expect(ended.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(new Set(ended.map(({ value }) => value)).size).toBe(1)
      expect(ended[0]?.value).toMatch(/^paid by \d+$/)
    }
  })

  test('F9: without waiting the others are told that it runs', async () => {
    await start(storeName(), 2, {})
    const [one, two] = workers
    const running = pay(one, 'slow', 1, 1_000, 0)
    await one?.next('paying', { within: 10_000 })
    expect(await pay(two, 'slow', 3, 0, 0)).toEqual(Array(3).fill({ code: 'IDEMPOTENCY_IN_PROGRESS' }))
    expect(await running).toEqual([{ value: `paid by ${one?.pid}`, replayed: false }])
    expect(effectsOf('slow')).toEqual([1])
  })

  test('F6: a runner that is killed with -9 leaves "unknown", and never a second effect, until it is settled', async () => {
    await start(storeName(), 1, { lease: LEASE })
    const [survivor] = workers
    for (let i = 0; i < KILLS; i += 1) {
      const key = `killed-${i}`
      const victim = await oneMore()
      pay(victim, key, 1, 60_000, 0).catch(() => undefined)
      await victim.next('paying', { within: 10_000 })
      await victim.kill()
      expect(await pay(survivor, key, 2, 0, 20_000)).toEqual(Array(2).fill({ code: 'OUTCOME_UNKNOWN' }))
      expect(await survivor?.call('settle', key, 'found at the bank')).toBe(true)
      expect(await pay(survivor, key, 1, 0, 0)).toEqual([{ value: 'found at the bank', replayed: true }])
      expect(effectsOf(key)).toEqual([1])
    }
  })

  test('F5: with "retry" a waiting caller goes on after the lease, and knows that it is the second', async () => {
    await start(storeName(), 2, { lease: LEASE, onAbandoned: 'retry' })
    const survivors = [...workers]
    for (let i = 0; i < KILLS; i += 1) {
      const key = `killed-${i}`
      const victim = await oneMore()
      pay(victim, key, 1, 60_000, 0).catch(() => undefined)
      await victim.next('paying', { within: 10_000 })
      const began = performance.now()
      const waiting = survivors.map((survivor) => pay(survivor, key, 10, 50, 20_000))
      await victim.kill()
      const ended = (await Promise.all(waiting)).flat() as { value: string; replayed: boolean }[]
      expect(performance.now() - began).toBeLessThan(10 * LEASE)
      expect(ended.filter(({ replayed }) => !replayed)).toHaveLength(1)
      expect(new Set(ended.map(({ value }) => value)).size).toBe(1)
      expect(effectsOf(key)).toEqual([1, 2])
    }
  })

  test('F7: a runner that was stopped for longer than its lease is told, and its successor stays', async () => {
    await start(storeName(), 2, { lease: LEASE, onAbandoned: 'retry' })
    const [one, two] = workers
    const first = pay(one, 'paused', 1, 500, 0)
    await one?.next('paying', { within: 10_000 })
    await one?.stop()
    expect(await pay(two, 'paused', 1, 0, 20_000)).toEqual([
      { value: `paid by ${two?.pid}`, replayed: false },
    ])
    one?.continue()
    expect(await first).toEqual([{ code: 'OUTCOME_UNKNOWN' }])
    for (const worker of workers)
      expect(await pay(worker, 'paused', 1, 0, 0)).toEqual([{ value: `paid by ${two?.pid}`, replayed: true }])
    expect(effectsOf('paused')).toEqual([1, 2])
  })
})
