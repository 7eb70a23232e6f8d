import type { Duration } from '../duration.ts'

/**
 * A held lock, as far as a recorder looks at it. Only `release` is needed, so that locks without fences, deadlines or any
 * word of loss can be recorded beside ours.
 */
export interface HeldLike {
  readonly owner?: string
  readonly fence?: bigint | null
  /** Milliseconds left, 0 when over: tells the holder's deadline and how renewal moves it. */
  remaining?(): number
  /** Why it is lost; `null` while it is not. */
  readonly lost?: string | null
  /** Aborts when the holder is told of the loss. */
  readonly signal?: AbortSignal
  /** Throws when it is not held. */
  assertHeld?(): void
  /** Asks for a longer lease. */
  extend?(ttl: Duration): Promise<unknown>
  release(): Promise<ReleaseAnswer>
}

/** `true`, or nothing: released. `false`: there was nothing of ours. Else as ours answers. */
export type ReleaseAnswer =
  | void
  | boolean
  | { readonly released: true; readonly confirmed?: boolean }
  | { readonly released: false; readonly reason?: string }

/** What may be asked for in one call. Handed on to the lock as it is. */
export interface AskOptions<H> {
  /** Ends the waiting. */
  readonly signal?: AbortSignal
  /** Waits at most so long, instead of what the lock was made with. */
  readonly wait?: Duration
  /** Asks for this lease, instead of what the lock was made with. */
  readonly ttl?: Duration
  /** The hold that the new one is nested in. */
  readonly within?: H
}

/** A lock, as far as a recorder calls it. What is not there cannot be called on the recorded lock either. */
export interface LockLike<H extends HeldLike = HeldLike> {
  acquire(options?: AskOptions<H>): Promise<H>
  tryAcquire?(options?: AskOptions<H>): Promise<H | null>
  run?<T>(work: (held: H) => Promise<T>, options?: AskOptions<H>): Promise<T>
}

/** What the records shall say about a lock. Must agree with how the lock was made. */
export interface LockAbout {
  readonly name: string
  /** Its lease. Left out: it never ends, or is not known, and less can be judged. */
  readonly ttl?: Duration
  /** What `acquire` waits at most; 5 s when left out, as the library's default. */
  readonly wait?: Duration
  /** What one operation on the store may take; 1 s when left out; `null`: nothing is promised. */
  readonly budget?: Duration | null
  /** `false`: the lease is fixed and its deadline must not move. */
  readonly renews?: boolean
  /** `true`: a grant with owner and fence of a hold of the same recorder is nested in it, not a second one. */
  readonly reentrant?: boolean
}
