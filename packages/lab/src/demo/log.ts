/**
 * What the workers of one variant did, as lines of JSON that all of them append to one file. Times are this machine's
 * monotonic clock, which its processes share, in milliseconds.
 */

import { appendFileSync, readFileSync } from 'node:fs'

export type Happening =
  /** Began to ask for the lock. */
  | { readonly what: 'waits' }
  /** The store gave a naive lock. `ttl`: milliseconds until it expires, `null` without an expiry. */
  | { readonly what: 'granted'; readonly ttl: number | null }
  /** A naive lock got its expiry by a second command. */
  | { readonly what: 'expiry-set'; readonly ttl: number }
  /** A naive DEL came back. `sent`: when it was sent; `found`: whether there was something to delete. */
  | { readonly what: 'deleted'; readonly sent: number; readonly found: boolean }
  /** Began to work as the holder. */
  | { readonly what: 'enters' }
  /** Ended its work; the lock is not given back yet. */
  | { readonly what: 'leaves' }
  /** Found out in time that it holds no more. */
  | { readonly what: 'told' }
  /** Its event loop stood still. `leaseLeft`: what was left of a renewed lease then; `null` for a naive lock. */
  | { readonly what: 'blocked'; readonly ms: number; readonly leaseLeft: number | null }
  /** The database refused its write, because a later holder has been there. */
  | { readonly what: 'refused' }
  /** The payment provider was asked for the money. */
  | { readonly what: 'charges' }
  /** Stopped without a charge. */
  | { readonly what: 'stops'; readonly because: string }

/** When something happened, and to whom. */
export interface Stamp {
  readonly at: number
  /** The process: `P1`, `P2`, … */
  readonly lane: string
  /** Which of the buyers, callbacks or requests. */
  readonly who: number
}

export type Entry = Happening & Stamp

/** Milliseconds on the clock that all processes of this machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Appends to the log of one variant. A line is one write, so the lines of several processes do not mix. */
export class Log<What extends object = Happening> {
  readonly #file: string
  readonly #lane: string

  constructor(file: string, lane: string) {
    this.#file = file
    this.#lane = lane
  }

  note(who: number, happening: What): void {
    const entry: What & Stamp = { ...happening, at: now(), lane: this.#lane, who }
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`)
  }
}

/** All entries of a log, in the order of their times. */
export function readLog<What extends object = Happening>(file: string): (What & Stamp)[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as What & Stamp).sort((a, b) => a.at - b.at)
}
