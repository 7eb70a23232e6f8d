/** One user, 400 requests in a minute, 4 processes: every variant in turn, and then two bursts at a window's edge. */

import { join } from 'node:path'
import type { Worker } from '../../servers/worker.ts'
import { sleep } from '../../wait.ts'
import { now, readLog } from '../log.ts'
import type { Stage } from '../stage.ts'
import { between } from '../work.ts'
import { DYING, LIMIT_LANES, MINUTE } from './gate.ts'
import { requestsIn } from './traffic.ts'
import type { LimitEntry, LimitHappening, Request } from './traffic.ts'
import { limitVariantsOn } from './variants/index.ts'
import type { LimitVariant } from './variants/index.ts'
import type { Burst } from './worker.ts'

/** All in the first minute, the one of the process that dies included. */
export const REQUESTS = 400

/** Those that come after a pause, when nothing of the first minute may count any more. */
export const LATER = 10

const BURSTS = 7

/** What one variant came to. */
export interface LimitResult {
  readonly name: LimitVariant
  /** The requests of the first minute. */
  readonly requests: readonly Request[]
  readonly later: readonly Request[]
  /** Who died, and when. */
  readonly deaths: readonly { readonly lane: string; readonly at: number }[]
  /** Whether the user's key is there at the end, and has no expiry. */
  readonly staysForEver: boolean
}

/** Two bursts at an edge, as a fixed and an exact window decided about them. The lanes are the windows' names. */
export interface EdgeResult {
  /** In milliseconds of the log's clock, as all times. */
  readonly edge: number
  readonly requests: readonly Request[]
}

export interface LimitResults {
  readonly variants: readonly LimitResult[]
  readonly edge: EdgeResult
}

const WORKER = new URL('./worker.ts', import.meta.url)

/** Runs every variant. `progress` is told the name of each before it runs. */
export async function limitOneUser(stage: Stage, progress: (variant: string) => void): Promise<LimitResults> {
  const names = limitVariantsOn(stage.place.store)
  const living = LIMIT_LANES.filter((lane) => lane !== DYING)
  // One that dies for each variant, all started now, so that no variant waits for it.
  const started = await stage.startWorkers(WORKER, [...living, ...names.map(() => DYING)])
  const workers = started.slice(0, living.length)
  const variants: LimitResult[] = []
  for (const [n, name] of names.entries()) {
    progress(name)
    variants.push(await askAll(name, stage, workers, started[living.length + n] as Worker))
  }
  progress('double burst')
  const edge = await burstTwice(stage, workers[0] as Worker)
  await stage.endWorkers()
  return { variants, edge }
}

async function askAll(
  name: LimitVariant,
  stage: Stage,
  others: readonly Worker[],
  dying: Worker,
): Promise<LimitResult> {
  const logFile = join(stage.folder, `limit-${name}.log`)
  const ask = (worker: Worker, bursts: readonly Burst[]) =>
    worker.call(
      'ask',
      name,
      logFile,
      bursts.map((burst) => ({ ...burst })),
    )
  await diesAsking(dying, ask(dying, [{ at: now(), requests: 1 }]))
  const began = now()
  await Promise.all(others.map((worker) => ask(worker, burstsFrom(began, (REQUESTS - 1) / others.length))))
  // On a busy machine the requests may take longer than their minute.
  const pauseEnds = Math.max(began + 2 * MINUTE, now() + MINUTE)
  await sleep(pauseEnds - now())
  const [first] = others as [Worker, ...Worker[]]
  await ask(first, [{ at: now(), requests: LATER }])
  const log: LimitEntry[] = readLog<LimitHappening>(logFile)
  const requests = requestsIn(log)
  return {
    name,
    requests: requests.filter(({ sent }) => sent < pauseEnds),
    later: requests.filter(({ sent }) => sent >= pauseEnds),
    deaths: log.filter(({ what }) => what === 'dies').map(({ lane, at }) => ({ lane, at })),
    staysForEver: (await first.call<number>('pttl', name)) === -1,
  }
}

/** Waits until a process is dead that dies in its first request. */
async function diesAsking(dying: Worker, asking: Promise<unknown>): Promise<void> {
  try {
    await asking
  } catch (error) {
    const { signal } = await dying.exited
    if (signal === 'SIGKILL') return
    throw error
  }
  throw new Error(`${DYING} should have died, and answered`)
}

/** So many requests within two thirds of a minute, in bursts, not all processes at once. */
function burstsFrom(began: number, requests: number): Burst[] {
  return Array.from({ length: BURSTS }, (_, i) => ({
    at: began + (i + between(0, 0.6)) * (MINUTE / 10),
    requests: requests / BURSTS,
  }))
}

async function burstTwice(stage: Stage, worker: Worker): Promise<EdgeResult> {
  const logFile = join(stage.folder, 'limit-edge.log')
  const edge = await worker.call<number>('edge', logFile)
  return { edge, requests: requestsIn(readLog<LimitHappening>(logFile)) }
}
