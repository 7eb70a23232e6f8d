import type { Instant } from '../network/server-host.ts'

/** What became of one call to a limiter: what nobody but a simulator can know of it stands beside what its caller was told. */
export interface TakeNote {
  readonly process: string
  readonly limiter: number
  readonly how: 'take' | 'peek' | 'wait' | 'reserve'
  readonly cost: number
  readonly asked: Instant
  /** `unknown`: not answered, or with an error after which it may have been counted. */
  outcome: 'allowed' | 'denied' | 'unknown'
  /** Who decided. */
  source: string | null
  /** Between these the server decided. */
  from: Instant | null
  until: Instant | null
  /** When its caller was told. */
  told: Instant | null
  /** When its caller was told that nobody knows. */
  failed: Instant | null
  /** What was asked of it later: to count only so much. */
  changed: { readonly to: number; readonly asked: Instant; told: Instant | null; done: boolean } | null
  slot: SlotNote | null
}

/** A slot, as its holder knows it. */
export interface SlotNote {
  /** World time at which it was lost, or was being given back. */
  ended: number | null
  /** Whether and when the store said that it is back. */
  returned: Instant | null
}

/** One run of a work, as the world saw it. */
export interface WorkNote {
  readonly process: string
  readonly key: number
  readonly payload: number
  readonly value: string
  readonly attempt: number
  /** When the call began whose work it is. */
  readonly asked: Instant
  readonly began: Instant
  /** World time at which it was told that it lost its key. */
  lost: number | null
  ended: Instant | null
  ends: 'value' | 'nothing' | 'final'
}

/** One call of `run` or `settle`, and what it came to. */
export interface RunNote {
  readonly process: string
  readonly key: number
  readonly payload: number
  readonly what: 'run' | 'settle'
  readonly asked: Instant
  told: Instant | null
  outcome: 'value' | 'final' | 'freed' | 'told' | 'settled' | null
  /** What it resolved with, or what the final error says. */
  value: string | null
  replayed: boolean
  /** The error's code, where it was one of the library. */
  code: string | null
  reason: string | null
}

/** All that callers did with limiters and idempotencies. */
export class Traffic {
  readonly takes: TakeNote[] = []
  readonly works: WorkNote[] = []
  readonly runs: RunNote[] = []

  get isEmpty(): boolean {
    return this.takes.length + this.runs.length === 0
  }
}
