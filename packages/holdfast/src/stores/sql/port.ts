import type { Finding } from '../../check/report.ts'
import type { ServerIdentity } from '../../store/contract.ts'
import type { StoreFailure } from '../../store/failure.ts'
import type { QueueEntry } from '../../store/wait-queue.ts'

/** What a transaction of ours is about: each kind of primitive has tables of its own. */
export type SqlKind = 'lock' | 'limit' | 'once'

/** What a transaction works on: these keys and no others. */
export interface SqlNeeds {
  readonly kind: SqlKind
  /** Ascending, each once: everybody locks rows in the same order, so that nobody waits in a circle. */
  readonly keys: readonly string[]
  /** Of limits: the ids of calls that may have been answered before. */
  readonly replies: readonly string[]
}

/** How long the database may take, in whole milliseconds. */
export interface SqlBounds {
  /** For the lock of a row that another transaction has. */
  readonly lockWait: number
  /** For one statement, and until the next one comes: after that the database ends the transaction by itself. */
  readonly within: number
}

/** The row of a lock. It stays when the lock is given back, since it keeps the last fence; a sweeper removes it later. */
export interface LockRow {
  /** `null` when nobody holds it. */
  readonly owner: string | null
  readonly fence: number
  readonly trace: string | null
  /** The database's milliseconds since 1970. */
  readonly expires: number
  /** The last fence of this name, reserved ones included. */
  readonly last: number
}

/** A row of a subject of limits, of a reply, or of a key that runs once. */
export interface TextRow {
  readonly value: string
  readonly expires: number
}

/** What stands in the database. What is not there has no entry. */
export interface SqlFound {
  /**
   * The database's clock in whole microseconds, read *after* all rows were locked: fences rise in the order of grants for no
   * other reason.
   */
  readonly nowMicros: number
  readonly locks: ReadonlyMap<string, LockRow>
  /** By the key of the lock. */
  readonly waiters: ReadonlyMap<string, readonly QueueEntry[]>
  /** Of the subjects of limits, or of keys that run once; also rows that are over. */
  readonly texts: ReadonlyMap<string, TextRow>
  readonly replies: ReadonlyMap<string, TextRow>
}

/** What a transaction changes. */
export interface SqlChanges {
  readonly locks: ReadonlyMap<string, LockRow>
  readonly waiters: readonly WaiterChange[]
  /** `null`: the row goes. */
  readonly texts: ReadonlyMap<string, TextRow | null>
  readonly replies: ReadonlyMap<string, TextRow>
  /** To be told to processes when the transaction is committed, where the database can. */
  readonly pushes: readonly SqlPush[]
}

/** `entry` is `null` when it goes. */
export interface WaiterChange {
  readonly key: string
  readonly process: string
  readonly entry: QueueEntry | null
}

export type SqlPush =
  | { readonly word: 'free'; readonly process: string; readonly key: string }
  | { readonly word: 'forced'; readonly process: string; readonly key: string; readonly owner: string }

/** What the stores over SQL need of a database. */
export interface SqlPort {
  /**
   * Milliseconds beyond its bounds in which a transaction that is silent may still be committed, where the database cannot end
   * it sooner. Default 0.
   */
  readonly lateBy?: number
  /**
   * Begins a transaction in which all rows of these keys are locked, whether they were there before or not, and reads them. It
   * must see what was committed before the locks were got, whatever isolation the connection was set to.
   *
   * Rejects with the client's own error; then nothing is open any more. It may also stay pending: after `give up` whatever comes
   * of it is undone.
   */
  begin(needs: SqlNeeds, bounds: SqlBounds, giveUp: GiveUp): Promise<SqlTransaction>
  /** Reads the same in one statement, without locks. After `give up` its connection, which does not answer, is ended; so with all that follow. */
  read(needs: SqlNeeds, bounds: SqlBounds, giveUp: GiveUp): Promise<SqlFound>
  /**
   * Removes rows that are over, of a few hundred after the key `after` in the order of keys; never waits for a row's lock.
   * Resolves with the last key it looked at, `''` when there are none after it.
   */
  sweep(kind: SqlKind, after: string, giveUp: GiveUp): Promise<string>
  /** What its settings say of whether commits outlive a crash. Rejects with the client's own error. */
  durability(giveUp: GiveUp): Promise<Finding>
  /** Which server it is; `null` when that one does not tell our user. Rejects with a `StoreFailure`. */
  identity(giveUp: GiveUp): Promise<ServerIdentity | null>
  /** How an error of the client or the database is to be taken. */
  failureOf(error: unknown, when: SqlMoment): StoreFailure
}

/** `before`: no commit was asked for. `commit`: it was, and the error came as its answer. */
export type SqlMoment = 'before' | 'commit'

/** Tells a call that is under way that nobody waits for it any more. */
export interface GiveUp {
  readonly given: boolean
  onGiven(run: () => void): void
}

/** A transaction that has its row locks. Ends by exactly one of its methods. */
export interface SqlTransaction {
  readonly found: SqlFound
  /**
   * Writes and commits. Must not do anything when the transaction is not there any more, as when the client took another connection.
   * Rejects with the client's own error, the transaction being undone then unless the commit itself is in doubt.
   */
  commit(changes: SqlChanges): Promise<void>
  /** Ends it without changes. Never rejects. */
  rollback(): Promise<void>
  /** Ends the connection, which does not answer. */
  destroy(): void
}
