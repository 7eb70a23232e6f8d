import type { OnceAddress } from './address.ts'
import type {
  ClaimAsk,
  ClaimResult,
  CompleteAsk,
  CompleteResult,
  FreeAsk,
  FreeResult,
  OnceView,
  RenewRunAsk,
  RenewRunResult,
  SettleAsk,
  SettleRunResult,
} from './contract.ts'
import * as records from './record.ts'

/**
 * What a store offers within one atomic step. Nobody else sees or changes anything between the first call and the last, and
 * either all changes stay or none. What is past its `expires` is not there.
 */
export interface OnceTables {
  /** The store's clock, read once for the step: whole milliseconds since 1970. */
  readonly now: number
  record(key: string): records.OnceRecord | null
  setRecord(key: string, record: records.OnceRecord): void
  dropRecord(key: string): void
}

/** What the calls of a once store do, written once for stores whose state can be changed in one synchronous step. */
export class OnceRules {
  readonly #tables: OnceTables

  constructor(tables: OnceTables) {
    this.#tables = tables
  }

  claim(ask: ClaimAsk, late: boolean): ClaimResult {
    return late ? { kind: 'late' } : this.#step(ask.address, (record, now) => records.claim(record, ask, now))
  }

  renew(ask: RenewRunAsk, late: boolean): RenewRunResult {
    return late ? { kind: 'late' } : this.#step(ask.address, (record, now) => records.renew(record, ask, now))
  }

  complete(ask: CompleteAsk): CompleteResult {
    return this.#step(ask.address, (record, now) => records.complete(record, ask, now))
  }

  free(ask: FreeAsk): FreeResult {
    return this.#step(ask.address, (record, now) => records.free(record, ask, now))
  }

  settle(ask: SettleAsk, late: boolean): SettleRunResult {
    return late
      ? { kind: 'late' }
      : this.#step(ask.address, (record, now) => records.settle(record, ask, now))
  }

  inspect({ key }: OnceAddress): OnceView | null {
    const record = this.#tables.record(key)
    return record === null ? null : records.view(record, this.#tables.now)
  }

  #step<R>(
    { key }: OnceAddress,
    run: (record: records.OnceRecord | null, now: number) => records.OnceStep<R>,
  ): R {
    const before = this.#tables.record(key)
    const { result, record } = run(before, this.#tables.now)
    if (record === before) return result
    if (record === null) this.#tables.dropRecord(key)
    else this.#tables.setRecord(key, record)
    return result
  }
}
