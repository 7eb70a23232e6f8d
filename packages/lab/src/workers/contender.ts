/**
 * A process that contends for one lock and writes to a guarded resource while it holds it; all it does and sees goes into a
 * history. It trusts the lock: between two writes it does not look whether it still holds.
 */

import { createHoldfast, type Holdfast } from 'holdfast'
import {
  FileHistory,
  HistoryRecorder,
  type HeldLike,
  type LockLike,
  type RecordedHold,
} from 'holdfast/testing'
import { connectResp } from '../resp/connection.ts'
import { serveWorker, tell } from '../servers/worker-side.ts'
import { sleep } from '../wait.ts'
import { GuardedTable } from './guarded-table.ts'
import { naiveKinds, naiveLock, type NaiveKind } from './naive-locks.ts'
import { openStore, type OpenedStore, type StoreName } from './stores.ts'

export interface ContenderOptions {
  readonly kind: 'holdfast' | NaiveKind
  readonly store: StoreName
  readonly prefix: string
  /** The lock's name. */
  readonly name: string
  readonly ttl: number
  readonly wait: number
  readonly budget: number
  /** Paths of the history and of the guarded resource. */
  readonly history: string
  readonly guard: string
  /** This process in the history. */
  readonly process: string
}

let options: ContenderOptions
let recorder: HistoryRecorder
let guard: GuardedTable
let lock: ReturnType<HistoryRecorder['lock']>
let hf: Holdfast | null = null
let opened: OpenedStore | null = null
let holds: RecordedHold<HeldLike>[] = []

async function open(given: ContenderOptions): Promise<void> {
  options = given
  holds = []
  recorder = new HistoryRecorder({ process: given.process, log: new FileHistory(given.history) })
  recorder.watchProcess({ every: 10, stallsOver: 30 })
  guard = new GuardedTable(given.guard)
  const { name, ttl, wait, budget } = given
  lock = recorder.lock(await makeLock(given), { name, ttl, wait, budget })
}

async function makeLock({
  kind,
  store,
  prefix,
  name,
  ttl,
  wait,
  budget,
}: ContenderOptions): Promise<LockLike> {
  if (kind !== 'holdfast' && naiveKinds.includes(kind) && 'redis' in store) {
    const { port } = new URL(store.redis)
    return naiveLock(kind, await connectResp({ port: Number(port) }), {
      key: `${prefix}:{${name}}:lock`,
      ttl,
    })
  }
  opened = await openStore(store)
  hf = createHoldfast({ store: opened.store, prefix, budget })
  return hf.lock(name, { ttl, wait })
}

/** Acquires, works and releases, again and again, for so long. */
async function contend(ms: number): Promise<void> {
  for (const until = performance.now() + ms; performance.now() < until;) {
    const hold = await lock.acquire().catch(() => null)
    if (hold === null) await sleep(10)
    else await work(hold)
  }
  tell('done')
}

async function work(hold: RecordedHold<HeldLike>): Promise<void> {
  write(hold)
  await sleep(5 + Math.random() * 25)
  try {
    hold.assertHeld()
  } catch {
    // It is recorded; this process goes on as if nothing were.
  }
  // Right before it lets go: who is stopped while it holds writes when it goes on.
  write(hold)
  await hold.release().catch(() => null)
}

function write({ held }: RecordedHold<HeldLike>): boolean | null {
  return held.fence === null || held.fence === undefined ? null : guard.write(options.process, held.fence)
}

async function tryAcquire(): Promise<number | null> {
  const hold = await lock.tryAcquire()
  return hold === null ? null : holds.push(hold) - 1
}

const holdOf = (id: number): RecordedHold<HeldLike> => holds[id] as RecordedHold<HeldLike>

/** Gives back what is left, and says goodbye to the history. */
async function end(): Promise<void> {
  await hf?.close()
  opened?.close()
  recorder.end()
  guard.close()
  hf = opened = null
}

serveWorker({
  open,
  contend,
  tryAcquire,
  write: (id: number) => write(holdOf(id)),
  look: (id: number) => void holdOf(id).look(),
  release: (id: number) => holdOf(id).release(),
  end,
})
