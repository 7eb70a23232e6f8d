import { attach } from '../attach.ts'
import { LockLostError, type WorkOutcome } from '../errors.ts'
import type { ReleaseOutcome } from './lease.ts'

/** What a run holds, as far as its end is concerned. */
export interface Running {
  /** What is told of a loss. */
  readonly name: string
  release(): Promise<ReleaseOutcome>
}

/** Calls the work, gives back what it held, and ends as the work did, unless it succeeded and what it held was lost. */
export async function runHeld<T>(held: Running, work: () => Promise<T>): Promise<T> {
  let ended: { value: T } | { error: unknown }
  try {
    ended = { value: await work() }
  } catch (error) {
    ended = { error }
  }
  const trouble = await releaseAfter(held, ended)
  if ('error' in ended) {
    if (trouble !== null) attach(ended.error, trouble)
    throw ended.error
  }
  if (trouble instanceof LockLostError) throw trouble
  return ended.value
}

/** Gives the lock back after the work; what went wrong with the lock, if anything did. */
async function releaseAfter(held: Running, work: WorkOutcome): Promise<Error | null> {
  try {
    const outcome = await held.release()
    return outcome.released ? null : new LockLostError(held.name, outcome.reason, work)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
