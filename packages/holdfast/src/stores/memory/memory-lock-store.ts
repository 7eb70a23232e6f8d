import { instantOf, type Clock } from '../../clock.ts'
import type { LockAddress } from '../../name.ts'
import type { Attempt } from '../../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  ForceResult,
  LeaveAsk,
  LockListener,
  LockRecord,
  LockStore,
  OwnerAsk,
  RaiseAsk,
  RaiseResult,
  ReleaseResult,
  RenewAsk,
  RenewResult,
  StoreContext,
} from '../../store/contract.ts'
import { tellFenceLead } from '../../store/fence-lead.ts'
import { LockRules, type Pushes } from '../../store/lock-rules.ts'
import { newProcessName } from '../../store/owner.ts'
import { closed } from './closed.ts'
import type { MemoryTables } from './memory-tables.ts'

/** One opening of a memory store. */
export class MemoryLockStore implements LockStore {
  readonly process: string
  readonly #clock: Clock
  readonly #tables: MemoryTables
  readonly #rules: LockRules
  #listener: LockListener | null = null
  #closed = false

  constructor(tables: MemoryTables, context: StoreContext, pushes: Pushes) {
    this.process = newProcessName(context.randomness)
    this.#clock = context.clock
    this.#tables = tables
    this.#rules = new LockRules(tables, this.process, pushes)
  }

  /** Who hears the pushes; `null` before anybody listens and after the end. */
  get listener(): LockListener | null {
    return this.#closed ? null : this.#listener
  }

  async acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const answer = this.#step(attempt, true, (late) => this.#rules.acquire(ask, late))
    tellFenceLead(ask.address, answer)
    return answer
  }

  async release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    return this.#step(attempt, false, () => this.#rules.release(ask))
  }

  async renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    return this.#step(attempt, true, (late) => this.#rules.renew(ask, late))
  }

  async leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    return this.#step(attempt, false, () => this.#rules.leave(address))
  }

  async inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    return this.#step(attempt, false, () => this.#rules.inspect(address))
  }

  async force(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    return this.#step(attempt, false, () => this.#rules.force(ask))
  }

  async raise(ask: RaiseAsk, attempt: Attempt): Promise<Answer<RaiseResult>> {
    return this.#step(attempt, false, () => this.#rules.raise(ask))
  }

  listen(listener: LockListener): void {
    this.#listener = listener
  }

  attend(): void {
    // Pushes always reach us.
  }

  close(): void {
    this.#closed = true
  }

  /** One atomic step: it is synchronous, and nothing else runs meanwhile. */
  #step<R>(attempt: Attempt, expires: boolean, run: (late: boolean) => R): Answer<R> {
    if (this.#closed) throw closed()
    const sent = instantOf(this.#clock)
    const { now } = this.#tables.begin()
    attempt.sent = sent
    attempt.notAfter = expires ? Math.floor(now + (attempt.validUntil - sent.monotonic)) : null
    const result = run(expires && sent.monotonic > attempt.validUntil)
    return { result, serverTime: now, maybeTwice: false }
  }
}
