/**
 * What a history is made of. A history is the list of what several processes on one machine asked, were told and
 * observed, each with the time on a clock that all of them share. It is the only thing the checker reads.
 *
 * Times are milliseconds on that clock, with fractions; lengths are milliseconds. `null` means "does not apply" or "was
 * not seen", and the checker then assumes what accuses nobody.
 */
export type HistoryRecord =
  | AcquireCall
  | AcquireReturn
  | Renewal
  | Loss
  | Assertion
  | ReleaseCall
  | ReleaseReturn
  | OtherCall
  | OtherReturn
  | GuardedWrite
  | KeySeen
  | StoreEvent
  | Stop
  | Fault
  | Death
  | End
  | Leak

/** The kind of a record. */
export type HistoryKind = HistoryRecord['kind']

/** The record of one kind. */
export type HistoryRecordOf<K extends HistoryKind> = Extract<HistoryRecord, { kind: K }>

interface Recorded {
  readonly time: number
  /** Who wrote the record: a name that no other process of the history has, not even after a restart. */
  readonly process: string
}

/** A lock is asked for. Written before anything is sent. */
export interface AcquireCall extends Recorded {
  readonly kind: 'acquire-call'
  /** Names this call, and the hold if it is granted. Unique in the history, as those of all calls. */
  readonly id: string
  /** The lock's name. */
  readonly name: string
  /** The lease asked for; `null` when it never ends by itself, or is not known. */
  readonly ttl: number | null
  /** How long the caller may be kept waiting for its turn; 0 for one try. */
  readonly wait: number
  /** What one operation on the store may take; `null` when nothing was promised. */
  readonly budget: number | null
  /** `false` when the lease is fixed, so that its deadline must never move. */
  readonly renews: boolean | null
}

/**
 * How an acquire ended. `busy`: the answer to a single try. `timeout`: the wait ran out. `error`: it failed, and nothing
 * was done. `unknown`: it failed, and may have been granted all the same.
 */
export type AcquireOutcome = 'granted' | 'busy' | 'timeout' | 'error' | 'unknown'

/** An acquire settled. Written after the caller had the answer. */
export interface AcquireReturn extends Recorded {
  readonly kind: 'acquire-return'
  readonly id: string
  readonly outcome: AcquireOutcome
  readonly owner: string | null
  readonly fence: bigint | null
  /** The lease it stands on; several grants handed on within a process share one. */
  readonly lease: string | null
  /** When the request that was answered was sent, if somebody beside the holder knows it (a simulator does). */
  readonly sent: number | null
  /** Until when the holder itself believes to hold; before `time` where it had ended by then, and nobody knows for how long. */
  readonly deadline: number | null
  /** The hold it is nested in: the same flow asked again. */
  readonly within: string | null
  /** The error's code or message. */
  readonly error: string | null
}

/** The holder's deadline was seen to have moved. */
export interface Renewal extends Recorded {
  readonly kind: 'renewal'
  /** The id of the acquire. */
  readonly hold: string
  readonly deadline: number | null
  /** The lease asked for, when it is not that of the acquire. */
  readonly ttl: number | null
  /** When the request was sent, if somebody beside the holder knows it. */
  readonly sent: number | null
}

/** The holder was told that its lock is lost. */
export interface Loss extends Recorded {
  readonly kind: 'loss'
  readonly hold: string
  readonly reason: string
  /** Its last deadline. */
  readonly deadline: number | null
}

/** The holder asked `assertHeld()`, or whatever else tells it at once whether it holds. The time is from before it asked. */
export interface Assertion extends Recorded {
  readonly kind: 'assertion'
  readonly hold: string
  readonly passed: boolean
}

/** A release is asked for: from here on the holder does not believe to hold. Written before anything is sent. */
export interface ReleaseCall extends Recorded {
  readonly kind: 'release-call'
  readonly id: string
  readonly hold: string
  readonly budget: number | null
}

/**
 * How a release ended. `released`: by this very call. `unconfirmed`: the holder has given it back, but the store did not say so to this
 * call: an earlier, unanswered one may have done it, or it was handed on within the process. `not-held`: there was nothing of ours to release. `error`: it failed, and nothing was done. `unknown`: it may have.
 */
export type ReleaseOutcome = 'released' | 'unconfirmed' | 'not-held' | 'error' | 'unknown'

/** A release settled. */
export interface ReleaseReturn extends Recorded {
  readonly kind: 'release-return'
  readonly id: string
  readonly outcome: ReleaseOutcome
  /** Why it was not held, or the error's code or message. */
  readonly reason: string | null
}

/** Any other promise begins: extend, inspect, forced release, close. */
export interface OtherCall extends Recorded {
  readonly kind: 'call'
  readonly id: string
  readonly operation: string
  readonly name: string | null
  readonly wait: number
  readonly budget: number | null
}

/** It settled. */
export interface OtherReturn extends Recorded {
  readonly kind: 'return'
  readonly id: string
  readonly outcome: 'done' | 'failed'
  readonly error: string | null
}

/** A write at a guarded resource was accepted or refused. */
export interface GuardedWrite extends Recorded {
  readonly kind: 'write'
  readonly resource: string
  readonly fence: bigint
  readonly accepted: boolean
  /** Its place in the order in which the resource itself decided; `null` when that is not known. */
  readonly order: number | null
  /** When it was sent; `null` when that is not known. */
  readonly began: number | null
}

/** Somebody looked into the store and found a key. */
export interface KeySeen extends Recorded {
  readonly kind: 'key'
  readonly key: string
  /** The lock that the key stands for; `null` for keys of other kinds. */
  readonly name: string | null
  readonly owner: string | null
  readonly fence: bigint | null
  /** Milliseconds until it expires; `null` when it never does. */
  readonly expiresIn: number | null
  /** When the look began; `null` when that is not known. */
  readonly began: number | null
}

/**
 * What a store did, in its own order, told by the store itself: a model server, or a log of its commands. When a name has
 * such records they must be complete: every grant, every renewal that took effect, every end (or the expiry).
 */
export interface StoreEvent extends Recorded {
  readonly kind: 'store'
  readonly name: string
  readonly event: 'grant' | 'renew' | 'free'
  /** Rises with every event of the name. */
  readonly order: number
  /** The owner it happened to. */
  readonly owner: string
  readonly fence: bigint | null
  /** When the lease ends if nothing else happens, for `grant` and `renew`. */
  readonly expires: number | null
  /** Why it was freed: `release`, `expired`, `flush`, … */
  readonly cause: string | null
}

/** A process stood still: stopped by a signal, its event loop blocked, or not scheduled. */
export interface Stop extends Recorded {
  readonly kind: 'stop'
  readonly subject: string
  readonly from: number
  /** `null` when it did not go on. */
  readonly until: number | null
  readonly cause: string
}

/**
 * What a fault takes away. `leases`: the store may end leases before their time (flush, deletion, forced release, lossy
 * failover, its clock stepped forward). `clocks`: the clocks that fences come from do not agree. `timing`: holder and
 * store measure time differently. `service`: the store does not answer, or late.
 */
export type Assumption = 'leases' | 'clocks' | 'timing' | 'service'

/** Somebody broke something. */
export interface Fault extends Recorded {
  readonly kind: 'fault'
  readonly cause: string
  readonly breaks: readonly Assumption[]
  readonly from: number
  /** `null` when it was not mended. */
  readonly until: number | null
  /** The only lock it concerns; `null` for all. */
  readonly name: string | null
  /** The only process it concerns; `null` for all. */
  readonly subject: string | null
}

/** A process was killed. Written by whoever saw it. */
export interface Death extends Recorded {
  readonly kind: 'death'
  readonly subject: string
}

/** The process that writes this has done all it wanted. */
export interface End extends Recorded {
  readonly kind: 'end'
}

/** Something was left behind that should not be there. */
export interface Leak extends Recorded {
  readonly kind: 'leak'
  readonly what: 'rejection' | 'timer' | 'listener' | 'socket' | 'key'
  readonly detail: string
}

type NullableOf<R> = { [F in keyof R]: null extends R[F] ? F : never }[keyof R]
type EntryOf<R> = R extends HistoryRecord ? Omit<R, NullableOf<R>> & Partial<Pick<R, NullableOf<R>>> : never

/** A record as one writes it by hand: what would be `null` may be left out. */
export type HistoryEntry = EntryOf<HistoryRecord>

type Without<R, F extends PropertyKey> = R extends unknown ? Omit<R, F> : never

/** The same, without what a recorder fills in; a `time` may be given all the same. */
export type HistoryNote = Without<HistoryEntry, 'time' | 'process'> & { readonly time?: number }
