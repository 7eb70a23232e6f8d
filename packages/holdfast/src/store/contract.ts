import type { StoreFindings } from '../check/report.ts'
import type { Clock, Randomness } from '../clock.ts'
import type { LockAddress } from '../name.ts'
import type { Attempt } from './attempt.ts'
import type { LimitStore } from './limit/contract.ts'
import type { OnceStore } from './once/contract.ts'

/** What a store can and cannot do. Primitives and callers read it; nothing else tells stores apart. */
export interface StoreTraits {
  /** `strict`: fences rise whatever happens. `clocked`: they rise while the servers' clocks agree. `none`: no fences. */
  readonly fences: 'strict' | 'clocked' | 'none'
  /** Whether the store tells waiters and holders, or has to be asked. */
  readonly wake: 'push' | 'poll'
  /** Whose clock ends a lease: a server's, or this machine's (shared by all its processes). */
  readonly clock: 'server' | 'machine'
  /** What outlives: this process only, this machine's disk, or as much as the server is set up to keep. */
  readonly durable: 'process' | 'disk' | 'server'
}

/** What a store is given when it is opened. */
export interface StoreContext {
  readonly clock: Clock
  readonly randomness: Randomness
  /** Every prefix that will be used, so that the store can listen for all of them. */
  readonly prefixes: readonly string[]
}

/**
 * A store as the caller hands it over: what `redisStore(client)`, `postgresStore(pool)` and their like give. Opening it makes no
 * round trip. It can be opened several times; each opening is a process of its own to all others.
 */
export interface Store {
  readonly kind: string
  readonly traits: StoreTraits
  open(context: StoreContext): OpenStore
}

/** What a store may have. */
export type Primitive = 'locks' | 'limits' | 'idempotency'

/** An opened store. */
export interface OpenStore {
  readonly locks: LockStore
  readonly limits: LimitStore
  readonly once: OnceStore
  /** What it has not, and refuses. Nothing when left out. */
  readonly lacks?: readonly Primitive[]
  /**
   * What it can see of its server, and what the client's user needs. Reads only. A store that has nothing to say leaves it out.
   *
   * @param budget milliseconds for all of it
   */
  check?(budget: number): Promise<StoreFindings>
  /** Ends what the store itself opened (never what the caller handed over). Bounded; never rejects. */
  close(): Promise<void>
}

/**
 * The contract of a store of locks. Each method is *one try*: repeating, budgets and compensation live above it, once.
 *
 * A try settles in one of three ways. It resolves: the store did what the answer says. It rejects with a `StoreFailure`:
 * refused (`not-done`) or `unknown`. Or it stays pending while the server is silent; the caller stops waiting at a time of
 * its own, and an answer that comes after that is still welcome.
 *
 * Time: expiry is set from the store's clock in the same atomic step as the grant. Calls that grant or prolong do nothing
 * after `attempt.validUntil` and answer `late`.
 */
export interface LockStore {
  /** Fourteen characters that name this opening of the store. Every owner of this process begins with them. */
  readonly process: string
  /** Grants the lock if it is free, or says who holds it. Idempotent per owner. */
  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>>
  /** Deletes the lock if `owner` holds it, and wakes the first living waiter of another process. */
  release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>>
  /** Prolongs the lease if owner *and* fence stand there: what is left, or `ttl` if that is more. Never creates it. */
  renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>>
  /** Takes this process out of the queue; wakes the next one when the lock is free. */
  leave(ask: LeaveAsk, attempt: Attempt): Promise<Answer<null>>
  /** Reads; changes nothing. */
  inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>>
  /** Takes the lock away from `owner`: first a higher fence is written, then the lock is deleted and its holder told. */
  force(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>>
  /**
   * `acquire` and `release` for a listener instead of a promise: for a store that does so many at once that promises are a good
   * part of their cost. `false` when a call cannot be made so: then `acquire` or `release` has to be used. The listener is not called
   * before these return.
   */
  acquireFor?(ask: AcquireAsk, attempt: Attempt, listener: AnswerListener<AcquireResult>): boolean
  releaseFor?(ask: OwnerAsk, attempt: Attempt, listener: AnswerListener<ReleaseResult>): boolean
  /**
   * For quorums: no later grant of this name is to have this fence or a lower one, here. Written only while `owner` holds the
   * lock and its own fence here is not higher. A store without it cannot be part of a quorum with fences.
   */
  raise?(ask: RaiseAsk, attempt: Attempt): Promise<Answer<RaiseResult>>
  /** Which server this is, so that a quorum can refuse one that it has already; `null` when the server does not tell. */
  identify?(attempt: Attempt): Promise<ServerIdentity | null>
  /**
   * Whether the store itself may take back what an owner was granted in part, so that an owner that was asked for and not
   * granted is used up: the next ask needs another.
   */
  readonly spendsOwners?: boolean
  /** Whether asks of one group are one atomic step, in one round trip. */
  readonly grantsTogether?: boolean
  /** Names the one who is told about wake-ups, forced releases and gaps. Called once, before anything else. */
  listen(listener: LockListener): void
  /** Says whether somebody waits or holds. A store that can push subscribes and unsubscribes by it; in the background. */
  attend(needed: boolean): void
}

/** Hears what the store pushes. All of it are hints: one that is lost costs a delay, one too many costs a call. */
export interface LockListener {
  /** The lock at `key` may be free. */
  wake(key: string): void
  /** The lock at `key` was taken from `owner` by force. */
  forced(key: string, owner: string): void
  /** Another server answers than before, or the same one was started anew: it may have forgotten what was done last. */
  epoch?(before: ServerIdentity | null, after: ServerIdentity): void
  /**
   * Pushes may have been lost (the subscription began, or began again): ask about everything that matters; where `key` is given, about
   * that lock.
   */
  gap(key?: string): void
  /** Another server answers from now on, or may, or one that came back: it may not have got the last things that were done. */
  moved(): void
}

/** Hears what came of one try: one of both, once. */
export interface AnswerListener<R> {
  answered(answer: Answer<R>, attempt: Attempt): void
  failed(error: unknown): void
}

/** What came back, and when by the server's clock. */
export interface Answer<R> {
  readonly result: R
  /** The store's own time in milliseconds since 1970, read in the same atomic step. */
  readonly serverTime: number
  /** Whether the request may have reached the server twice: the connection changed between sending and answer. */
  readonly maybeTwice: boolean
  /** Stands for the server whose time it is, where several have a clock each; left out where there is one. */
  readonly clock?: object | undefined
}

export interface OwnerAsk {
  readonly address: LockAddress
  /** 22 characters, `@`, host, `:`, pid; never used for two acquire calls. For a forced release of others' locks: all of the value. */
  readonly owner: string
}

export interface AcquireAsk extends OwnerAsk {
  /** Rides along in the value behind the fence, for the human who reads it. */
  readonly trace: string | null
  readonly ttl: number
  /** `join`: stand in the queue if it is busy. `stands`: an entry of ours may be there and goes when granted. `yield`: once, let others who wait go first. */
  readonly queue: QueueManners
  /** How many fences more are wanted, to hand the lock on within the process. The store may give fewer. */
  readonly reserve?: number
  /** For a store that {@link LockStore.grantsTogether}. */
  readonly group?: AskGroup | undefined
}

/** Asks for several locks in one turn, which are granted together or not at all: where one is not free, all others are "busy". */
export interface AskGroup {
  /** How many there are. */
  readonly size: number
}

export interface QueueManners {
  readonly join: boolean
  readonly stands: boolean
  readonly yield: boolean
}

export interface RenewAsk extends OwnerAsk {
  readonly fence: bigint
  readonly ttl: number
}

export interface RaiseAsk extends OwnerAsk {
  readonly fence: bigint
}

export interface LeaveAsk {
  readonly address: LockAddress
}

/** Who stands in the lock, as far as its value tells. */
export interface Holder {
  /** What stands before `#`; all of the value when another software wrote it. */
  readonly owner: string
  /** `null` when another software wrote the value. */
  readonly fence: bigint | null
  /** Milliseconds until it expires; `null` when it never does. */
  readonly remaining: number | null
}

export type AcquireResult =
  /** `reserved`: so many fences after it are ours as well, to hand the lock on within the process. */
  | { readonly kind: 'granted'; readonly fence: bigint; readonly again: boolean; readonly reserved?: number }
  /** `holder` is null when the lock is free but it is others' turn. */
  | { readonly kind: 'busy'; readonly holder: Holder | null }
  | { readonly kind: 'late' }

export type ReleaseResult =
  /** `wokeOther`: another process's waiter is next: it was woken, or, where none can be, has stood for long. */
  | { readonly kind: 'released'; readonly wokeOther: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other'; readonly holder: Holder }

export type RenewResult =
  | { readonly kind: 'renewed' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other'; readonly holder: Holder }
  | { readonly kind: 'late' }

export type ForceResult =
  | { readonly kind: 'forced'; readonly fence: bigint }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other'; readonly holder: Holder }

export interface LockRecord extends Holder {
  /** How many stand in the queue: processes, not callers. */
  readonly waiters: number
}

export type RaiseResult =
  | { readonly kind: 'raised' }
  /** The grant has a higher fence here, and nothing was written. */
  | { readonly kind: 'higher'; readonly fence: bigint }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other'; readonly holder: Holder }

export interface ServerIdentity {
  /** No two servers share it. */
  readonly server: string
  /** Shared by servers that hold copies of the same data; `null` when that is not known. */
  readonly copies: string | null
  /** Why it cannot be independent of others, as the end of a sentence that begins with "it"; `null` when nothing speaks against it. */
  readonly dependent: string | null
}
