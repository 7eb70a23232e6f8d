import type { Attempt } from '../attempt.ts'
import type { Answer, AnswerListener } from '../contract.ts'
import type { OnceAddress } from './address.ts'

/**
 * The contract of a store of outcomes. As with locks, each method is *one try* and settles in one of three ways: it resolves,
 * it rejects with a `StoreFailure`, or it stays pending while the store is silent.
 *
 * A key has at most one record: of a run that goes on (`running`, under a lease that is apart from the record's own expiry), of
 * an outcome (`done`), or of a key that is free while its earlier runs are counted (`open`). Every change is a compare-and-set
 * on the owner of the last one, in one atomic step by the store's clock. All of them may be asked again with the same owner,
 * and are answered as before.
 */
export interface OnceStore {
  /** Takes the key if it may be run, or says what stands there. Prolongs the lease if `owner` has it already. */
  claim(ask: ClaimAsk, attempt: Attempt): Promise<Answer<ClaimResult>>
  /** Prolongs the lease to its full length if `owner` runs, also when it was over and nobody came. Never makes a record. */
  renew(ask: RenewRunAsk, attempt: Attempt): Promise<Answer<RenewRunResult>>
  /**
   * Stores an outcome if `owner` still has the record, whether its lease is over or not; also where there is no record any
   * more (flushed, evicted): what happened has happened.
   */
  complete(ask: CompleteAsk, attempt: Attempt): Promise<Answer<CompleteResult>>
  /** `claim` and `complete` for a listener instead of a promise; see `LockStore.acquireFor`. */
  claimFor?(ask: ClaimAsk, attempt: Attempt, listener: AnswerListener<ClaimResult>): boolean
  completeFor?(ask: CompleteAsk, attempt: Attempt, listener: AnswerListener<CompleteResult>): boolean
  /** Frees the key if `owner` runs. Runs before it that nobody knows the end of stay counted. */
  free(ask: FreeAsk, attempt: Attempt): Promise<Answer<FreeResult>>
  /** Decides about a key whose run ended unknown: under its lease, and with an outcome that can be replayed, it stays. */
  settle(ask: SettleAsk, attempt: Attempt): Promise<Answer<SettleRunResult>>
  /** Reads; changes nothing. */
  inspect(address: OnceAddress, attempt: Attempt): Promise<Answer<OnceView | null>>
  /**
   * The records as a part of a transaction of the caller's, for stores that are databases.
   *
   * @throws InvalidArgumentError when it is no transaction that this store can work in
   */
  within?(transaction: unknown): OnceTransaction
}

/**
 * Records that are written in a transaction of the caller's, together with what the work writes: both stay or none. What is
 * claimed here is nobody else's until that transaction ends, by its commit, its rollback or its runner's death, so there is no
 * lease to renew; and nobody sees an outcome before it is committed.
 *
 * No call waits for another transaction, as far as the database lets it: it answers `running`. A rejection means that the
 * transaction can only be rolled back, and nothing was done.
 */
export interface OnceTransaction {
  /** Whether nobody else can write while this transaction is open, so that a wait for another's run is in vain. */
  readonly stopsOthers: boolean
  /** For how many milliseconds beyond its time a claim may wait, where the database knows no shorter wait for another transaction. */
  readonly waits: number
  /** As {@link OnceStore.claim}. `running` with `left` above 0 also when another transaction that is not over has the key. */
  claim(ask: ClaimAsk, attempt: Attempt): Promise<Answer<ClaimResult>>
  /** Stores an outcome for the owner that claimed in this transaction. `other`: its claim is not there any more (rolled back). */
  complete(ask: CompleteAsk, attempt: Attempt): Promise<Answer<CompleteResult>>
  /** Takes the claim back, so that the transaction can be committed without it. */
  free(ask: FreeAsk, attempt: Attempt): Promise<Answer<FreeResult>>
}

/**
 * What a run came to. `value` and `error` have a body (with `-bytes`: in base64url, of a codec that gives bytes); `void` is the
 * value `undefined`; the body of `unstored` says why the outcome could not be kept.
 */
export interface StoredOutcome {
  readonly form: OutcomeForm
  readonly body: string
}

export type OutcomeForm = 'value' | 'value-bytes' | 'void' | 'error' | 'error-bytes' | 'unstored'

export interface OwnedAsk {
  readonly address: OnceAddress
  /** 22 characters, `@`, host, `:`, pid; never used for two runs. */
  readonly owner: string
}

export interface ClaimAsk extends OwnedAsk {
  /** Characters of `A-Z a-z 0-9 - _`; `null`: nothing to compare. Compared where both sides have one. */
  readonly fingerprint: string | null
  /** Whether to take over from a run whose lease is over. */
  readonly retryAbandoned: boolean
  /** Milliseconds. */
  readonly lease: number
  /** Milliseconds until the record expires, from its last change or renewal on. Not shorter than the lease. */
  readonly retention: number
}

export interface RenewRunAsk extends OwnedAsk {
  readonly lease: number
  readonly retention: number
}

export interface CompleteAsk extends OwnedAsk {
  /** For where there is no record any more. */
  readonly fingerprint: string | null
  readonly attempt: number
  readonly outcome: StoredOutcome
  readonly retention: number
}

export interface FreeAsk extends OwnedAsk {
  /** Whether the work was begun: one that was not does not count. */
  readonly started: boolean
  readonly retention: number
}

export interface SettleAsk {
  readonly address: OnceAddress
  /** Names this call, as an owner names a run. */
  readonly owner: string
  /** `null`: the key may be run again. */
  readonly outcome: StoredOutcome | null
  readonly retention: number
}

export type ClaimResult =
  /** `attempt` counts the runs of this key whose end is not known, this one included. */
  | { readonly kind: 'claimed'; readonly attempt: number }
  /** `left`: milliseconds of the lease; 0 when it is over: nobody knows how that run ended. */
  | {
      readonly kind: 'running'
      readonly left: number
      readonly attempt: number
      readonly fingerprint: string | null
    }
  | { readonly kind: 'done'; readonly outcome: StoredOutcome; readonly fingerprint: string | null }
  /** The record is of another payload, whatever its state. */
  | { readonly kind: 'mismatch'; readonly fingerprint: string | null }
  | { readonly kind: 'late' }

export type RenewRunResult = { readonly kind: 'renewed' | 'missing' | 'other' | 'late' }

/** `other`: another run, or a settlement, stands there; nothing was changed. */
export type CompleteResult = { readonly kind: 'done' | 'other' }

export type FreeResult = { readonly kind: 'freed' | 'missing' | 'other' }

/** `running`, `done`: there is nothing to settle. */
export type SettleRunResult = { readonly kind: 'settled' | 'running' | 'done' | 'missing' | 'late' }

/** A record as it is read. Times are in milliseconds. */
export interface OnceView {
  readonly state: OnceState
  readonly owner: string
  readonly attempt: number
  /** When it came to this state, since 1970 by the store's clock; of a run: when it was claimed. */
  readonly since: number
  /** What is left of the lease of a run; 0 when it is over, and in other states. */
  readonly left: number
  readonly fingerprint: string | null
  readonly outcome: StoredOutcome | null
  /** Until the record expires. */
  readonly remaining: number
}

export type OnceState = 'running' | 'open' | 'done'
