import { instantOf, type Clock } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import type { Attempt } from '../../store/attempt.ts'
import type { Answer } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { OnceAddress } from '../../store/once/address.ts'
import type {
  ClaimAsk,
  ClaimResult,
  CompleteAsk,
  CompleteResult,
  FreeAsk,
  FreeResult,
  OnceTransaction,
} from '../../store/once/contract.ts'
import { readRecord, writeRecord } from '../../store/once/record-text.ts'
import * as records from '../../store/once/record.ts'
import type { TextRow } from './port.ts'
import { notDone } from './task.ts'

/** A look at one key from within a transaction of the caller's. */
export interface OnceLook {
  /** The database's clock: whole milliseconds since 1970. */
  readonly now: number
  /** The row as it is committed, or as this transaction wrote it; `null` when there is none. */
  readonly row: TextRow | null
  /** Whether this transaction has the key to itself until its end. Need not be, where the row says that it is done. */
  readonly turn: boolean
}

/** What {@link SqlTransactionalOnce} needs of a transaction of the caller's. */
export interface SqlCallersTransaction {
  /** See {@link OnceTransaction.stopsOthers}. */
  readonly stopsOthers: boolean
  /** See {@link OnceTransaction.waits}. Default 0. */
  readonly waits?: number
  /**
   * Takes the turn of the key without waiting for another transaction, and *then* reads its row. It must not see an older row
   * than the one that stood when the turn was taken.
   *
   * Rejects with the database's or the client's error, or an InvalidArgumentError when there is no transaction.
   */
  look(key: string): Promise<OnceLook>
  /** Writes the row, or removes it (`null`), if `before` still stands there. Tells whether it did. */
  put(key: string, row: TextRow | null, before: TextRow | null): Promise<boolean>
  failureOf(error: unknown): StoreFailure
}

/** The records of a SQL store within one transaction of the caller's. */
export class SqlTransactionalOnce implements OnceTransaction {
  readonly #transaction: SqlCallersTransaction
  readonly #clock: Clock

  constructor(transaction: SqlCallersTransaction, clock: Clock) {
    this.#transaction = transaction
    this.#clock = clock
  }

  get stopsOthers(): boolean {
    return this.#transaction.stopsOthers
  }

  get waits(): number {
    return this.#transaction.waits ?? 0
  }

  claim(ask: ClaimAsk, attempt: Attempt): Promise<Answer<ClaimResult>> {
    return this.#step<ClaimResult>(ask.address, attempt, (record, now, turn) => {
      const step = records.claim(record, ask, now)
      if (turn || step.result.kind !== 'claimed') return step
      // Nobody can say how long the other transaction takes.
      const { attempt: runs = 1, fingerprint = null } = record ?? {}
      return {
        result: { kind: 'running', left: bounds.longestRetryAfter, attempt: runs, fingerprint },
        record,
      }
    })
  }

  complete(ask: CompleteAsk, attempt: Attempt): Promise<Answer<CompleteResult>> {
    return this.#step<CompleteResult>(ask.address, attempt, (record, now) => {
      // A claim that was rolled back to a savepoint is gone, and what it stood for with it.
      if (record === null) return { result: { kind: 'other' }, record }
      return records.complete(record, ask, now)
    })
  }

  free(ask: FreeAsk, attempt: Attempt): Promise<Answer<FreeResult>> {
    // What the work did is undone, or is the caller's to commit: this run left nothing in doubt.
    return this.#step(ask.address, attempt, (record, now) =>
      records.free(record, { ...ask, started: false }, now),
    )
  }

  async #step<R>(
    { key }: OnceAddress,
    attempt: Attempt,
    decide: (record: records.OnceRecord | null, now: number, turn: boolean) => records.OnceStep<R>,
  ): Promise<Answer<R>> {
    attempt.sent = instantOf(this.#clock)
    try {
      for (;;) {
        const { now, row, turn } = await this.#transaction.look(key)
        // Its caller has been told so, and may have ended the transaction: what is written now would be committed by itself.
        if (attempt.abandoned) throw notDone('abandoned', 'the call was given up before it was done')
        const before = row === null || row.expires <= now ? null : readRecord(row.value, row.expires)
        const { result, record } = decide(before, now, turn)
        const next = record === null ? null : { value: writeRecord(record), expires: record.expires }
        const same = record === before
        // Somebody without a transaction of his own was faster: look again.
        if (same || (await this.#transaction.put(key, next, row)))
          return { result, serverTime: now, maybeTwice: false }
      }
    } catch (error) {
      throw error instanceof StoreFailure ? error : this.#transaction.failureOf(error)
    }
  }
}
