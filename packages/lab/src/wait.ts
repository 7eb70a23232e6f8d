/** Waiting in tests: for conditions, never for a sleep to be exact. */

import { performance } from 'node:perf_hooks'

export interface WaitOptions {
  /** What is waited for, in words, for the error; a function is asked only when it comes to that. */
  readonly what: string | (() => string)
  /** The longest wait in milliseconds. Default 15 000: for a busy machine; whoever tests a bound says it. */
  readonly within?: number
  /** Milliseconds between two looks. Default 5. */
  readonly every?: number
}

/**
 * Waits until the condition gives something truthy, and resolves with it.
 *
 * A condition that throws or rejects counts as "not yet"; its last error becomes the cause of ours. Rejects when
 * the time is over, also while the condition itself hangs.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { what, within = 15_000, every = 5 }: WaitOptions,
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const deadline = performance.now() + within
  let lastError: unknown
  for (;;) {
    try {
      const value = await withinTime(condition, deadline - performance.now())
      if (value) return value as Exclude<T, false | null | undefined | 0 | ''>
      lastError = undefined
    } catch (error) {
      lastError = error
    }
    if (performance.now() >= deadline) {
      const awaited = typeof what === 'string' ? what : what()
      throw new Error(
        `waited ${within} ms for ${awaited}`,
        lastError === undefined ? {} : { cause: lastError },
      )
    }
    await sleep(every)
  }
}

/** Resolves after so many milliseconds; late under load, never early by more than the timer's own grain. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Settles with the promise, or rejects with the error of `overdue` when it takes longer than `ms`. */
export async function within<T>(promise: Promise<T>, ms: number, overdue: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(overdue()), Math.max(1, ms))
  })
  try {
    return await Promise.race([promise, limit])
  } finally {
    clearTimeout(timer)
  }
}

async function withinTime<T>(condition: () => T | Promise<T>, ms: number): Promise<T> {
  const result = condition()
  if (!(result instanceof Promise)) return result
  return within(result, ms, () => new Error('the condition itself did not settle'))
}
