import { setFlagsFromString } from 'node:v8'

/**
 * Lets all promises go on until none is left that can, at once: what the engine itself does at the end of every callback.
 * Nothing else in a simulated world waits for the machine, so that a whole schedule runs in one turn of the event loop, and
 * the engine's own queue says when all has settled: no guess of how many rounds are enough.
 *
 * Does nothing while promises are already going on: call it from a plain callback (see {@link fromPlainCallback}).
 */
export const drainMicrotasks: () => void = nativeCheckpoint()

/** Runs `work` in a callback of its own, in which {@link drainMicrotasks} works. */
export function fromPlainCallback<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(work())
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      }
    })
  })
}

/** @throws Error when promises do not go on in this callback: a schedule would stand still and seem to pass */
export function assertDrains(): void {
  let went = false
  void Promise.resolve().then(() => {
    went = true
  })
  drainMicrotasks()
  if (!went)
    throw new Error(
      'promises do not go on here: run schedules from a plain callback, as fromPlainCallback does',
    )
}

/** V8 has it under a name that is no JavaScript; the flag is needed only while the function is compiled. */
function nativeCheckpoint(): () => void {
  setFlagsFromString('--allow-natives-syntax')
  try {
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- only so can it be compiled while the flag is set
    return new Function('%PerformMicrotaskCheckpoint()') as () => void
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}
