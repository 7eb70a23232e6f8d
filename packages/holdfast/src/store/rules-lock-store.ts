import type { LockAddress } from '../name.ts'
import type { Attempt } from './attempt.ts'
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
  ReleaseResult,
  RenewAsk,
  RenewResult,
  ServerIdentity,
} from './contract.ts'
import { tellFenceLead } from './fence-lead.ts'
import type { LockRules } from './lock-rules.ts'
import type { DoStep, StepMode } from './rules-step.ts'

/** How a store tells its own processes something, if it can. */
export interface LockChannel {
  listen(listener: LockListener): void
  /** Whether somebody waits or holds. */
  need(needed: boolean): void
}

/** A lock store over rows that can be read and changed in one step. */
export class RulesLockStore implements LockStore {
  readonly process: string
  readonly identify?: (attempt: Attempt) => Promise<ServerIdentity | null>
  readonly #step: DoStep<LockRules>
  readonly #channel: LockChannel | null

  /**
   * @param channel `null` where nobody can be woken: waiters ask again by themselves
   * @param identify says where the rows are, if they can be reached from elsewhere
   */
  constructor(
    process: string,
    step: DoStep<LockRules>,
    channel: LockChannel | null,
    identify?: (attempt: Attempt) => Promise<ServerIdentity | null>,
  ) {
    this.process = process
    this.#step = step
    this.#channel = channel
    if (identify !== undefined) this.identify = identify
  }

  async acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const answer = await this.#do(ask.address, attempt, 'late', (rules, late) => rules.acquire(ask, late))
    tellFenceLead(ask.address, answer)
    return answer
  }

  release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    return this.#do(ask.address, attempt, 'write', (rules) => rules.release(ask))
  }

  renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    return this.#do(ask.address, attempt, 'late', (rules, late) => rules.renew(ask, late))
  }

  leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    return this.#do(address, attempt, 'write', (rules) => rules.leave(address))
  }

  inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    return this.#do(address, attempt, 'read', (rules) => rules.inspect(address))
  }

  force(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    return this.#do(ask.address, attempt, 'write', (rules) => rules.force(ask))
  }

  listen(listener: LockListener): void {
    this.#channel?.listen(listener)
  }

  attend(needed: boolean): void {
    this.#channel?.need(needed)
  }

  #do<R>(
    { key }: LockAddress,
    attempt: Attempt,
    mode: StepMode,
    run: (rules: LockRules, late: boolean) => R,
  ): Promise<Answer<R>> {
    return this.#step({ attempt, key, mode, reply: null, run })
  }
}
