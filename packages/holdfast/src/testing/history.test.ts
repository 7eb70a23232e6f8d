import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createHoldfast } from '../index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { checkHistory } from './checker/check.ts'
import { formatVerdict } from './checker/format.ts'
import { MemoryHistory } from './history-log.ts'
import { HistoryRecorder } from './history-recorder.ts'
import type { HeldLike, LockLike } from './history-shapes.ts'

// The whole way: real calls of a lock, recorded, judged.

const NAMES = ['w1', 'w2', 'w3', 'w4']
const about = { name: 'lock', ttl: '10s', wait: '30s' } as const

/** Each worker takes the lock ten times and writes to a guarded resource while it has it. */
async function work(lockFor: (process: string) => LockLike<HeldLike>) {
  const log = new MemoryHistory()
  let written = 0
  const worker = async (process: string): Promise<void> => {
    const recorder = new HistoryRecorder({ process, log })
    recorder.watchProcess()
    const lock = recorder.lock(lockFor(process), about)
    for (let round = 0; round < 10; round += 1) {
      const hold = await lock.acquire()
      await sleep(round % 3)
      if (hold.held.assertHeld !== undefined) hold.assertHeld()
      const { fence } = hold.held
      if (typeof fence === 'bigint')
        recorder.write({ resource: 'row', fence, accepted: true, order: (written += 1) })
      await hold.release()
    }
    recorder.end()
  }
  await Promise.all(NAMES.map(worker))
  return log.records
}

test('forty holds of the lock over four openings of one store keep every invariant', async () => {
  const store = memoryStore()
  const all = NAMES.map((name) => [name, createHoldfast({ store })] as const)
  const locks = new Map(
    all.map(([name, hf]) => [name, hf.lock('lock', { ttl: about.ttl, wait: about.wait })]),
  )
  const records = await work((process) => locks.get(process) as LockLike<HeldLike>)
  const verdict = checkHistory(records, { lossSlack: 500, settleSlack: 1_000 })
  expect(verdict.ok, formatVerdict(verdict)).toBe(true)
  expect(verdict.counted).toMatchObject({ acquires: { granted: 40 }, releases: 40, writes: { accepted: 40 } })
  await Promise.all(all.map(([, hf]) => hf.close()))
})

test('no lock at all is caught, and the witness says by whom', async () => {
  const none: LockLike<HeldLike> = { acquire: () => Promise.resolve({ release: () => Promise.resolve() }) }
  const verdict = checkHistory(await work(() => none))
  const found = new Set(verdict.violations.map(({ invariant }) => invariant))
  expect([...found]).toEqual(expect.arrayContaining(['INV-M1', 'INV-M2']))
  expect(formatVerdict(verdict)).toMatch(/w\d and w\d both believed to hold lock/)
})
