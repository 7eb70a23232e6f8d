/** A process that holds locks: to be stopped, blocked, killed and asked what it believes. */

import { createHoldfast, listen, type Holdfast, type Held, type LockOptions } from 'holdfast'
import { machineTime } from 'holdfast/testing'
import { serveWorker, tell } from '../servers/worker-side.ts'
import { openStore, type OpenedStore, type StoreName } from './stores.ts'

/** What a holder believes, read line by line. Times are those of the machine's monotonic clock. */
export interface Belief {
  readonly owner: string
  readonly lost: string | null
  /** Of the signal that was taken when the lock was. */
  readonly aborted: boolean
  /** Of the signal when it is asked for now. */
  readonly abortedNow: boolean
  readonly asserts: boolean
  readonly remaining: number
  readonly at: number
}

export interface OpenOptions {
  readonly prefix?: string
  readonly budget?: number
  readonly closeOn?: readonly NodeJS.Signals[]
}

interface Hold {
  readonly held: Held
  readonly signal: AbortSignal
}

const holds: Hold[] = []
let opened: OpenedStore
let hf: Holdfast

listen('holdfast:lock:lost', ({ owner, reason }) => tell('lost', { owner, reason, at: machineTime() }))

async function open(name: StoreName, options: OpenOptions = {}): Promise<void> {
  opened = await openStore(name)
  hf = createHoldfast({ ...options, store: opened.store })
}

async function acquire(
  name: string,
  options: LockOptions = {},
): Promise<{ id: number; owner: string; fence: string }> {
  const held = await hf.lock(name, options).acquire()
  const { owner, fence, signal } = held
  return { id: holds.push({ held, signal }) - 1, owner, fence: String(fence) }
}

async function acquireMany(count: number, options: LockOptions = {}): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => acquire(`lock ${i}`, options)))
}

function belief(id: number): Belief {
  const { held, signal } = holds[id] as Hold
  const at = machineTime()
  return {
    owner: held.owner,
    lost: held.lost,
    aborted: signal.aborted,
    abortedNow: held.signal.aborted,
    asserts: asserts(held),
    remaining: held.remaining(),
    at,
  }
}

/** Blocks the event loop for so long, and reads on the very next line. `first` is what is read first. */
function blocked(
  id: number,
  ms: number,
  first: 'lost' | 'signal' | 'assertHeld',
): { first: boolean; belief: Belief } {
  const { held, signal } = holds[id] as Hold
  const until = performance.now() + ms
  while (performance.now() < until);
  const read = {
    lost: () => held.lost !== null,
    signal: () => signal.aborted,
    assertHeld: () => !asserts(held),
  }[first]()
  return { first: read, belief: belief(id) }
}

function asserts(held: Held): boolean {
  try {
    held.assertHeld()
    return true
  } catch {
    return false
  }
}

/** Another shutdown of the process's own: ends it with this status, a while after the first such signal. */
function exitsByItself(signal: NodeJS.Signals, code: number, ms: number): void {
  process.once(signal, () => setTimeout(() => process.exit(code), ms))
}

serveWorker({
  open,
  acquire,
  acquireMany,
  belief,
  blocked,
  exitsByItself,
  release: (id: number) => holds[id]?.held.release(),
  close: (options: { release?: boolean }) => hf.close(options),
  disconnect: () => opened.close(),
})
