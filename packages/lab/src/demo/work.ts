/** Work as slow as real work is. */

import { sleep } from '../wait.ts'

/** A random number from `least` up to `most`. */
export function between(least: number, most: number): number {
  return least + Math.random() * (most - least)
}

/** Something elsewhere that answers after a while: from `least` to `most` milliseconds. */
export function slow(least: number, most: number): Promise<void> {
  return sleep(between(least, most))
}

/** Keeps the event loop busy, as a huge JSON.parse or a wild regular expression does. No timer fires meanwhile. */
export function blockEventLoop(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}
