import type { LockAddress } from '../../name.ts'
import type { Attempt } from '../../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  ForceResult,
  LeaveAsk,
  LockRecord,
  LockStore,
  OwnerAsk,
  ReleaseResult,
  RenewAsk,
  RenewResult,
  StoreContext,
} from '../../store/contract.ts'
import { tellFenceLead } from '../../store/fence-lead.ts'
import { LockRules } from '../../store/lock-rules.ts'
import { newProcessName } from '../../store/owner.ts'
import type { SqliteSession } from './session.ts'
import { Transactions } from './transactions.ts'

/** One opening of a SQLite store. Nobody is woken: waiters ask again by themselves. */
export class SqliteLockStore implements LockStore {
  readonly process: string
  readonly #transactions: Transactions

  constructor(session: SqliteSession, { clock, randomness }: StoreContext) {
    this.process = newProcessName(randomness)
    this.#transactions = new Transactions(session, clock, randomness)
  }

  async acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const answer = await this.#do(attempt, true, (rules, late) => rules.acquire(ask, late))
    tellFenceLead(ask.address, answer)
    return answer
  }

  release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    return this.#do(attempt, false, (rules) => rules.release(ask))
  }

  renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    return this.#do(attempt, true, (rules, late) => rules.renew(ask, late))
  }

  leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    return this.#do(attempt, false, (rules) => rules.leave(address))
  }

  inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    return this.#do(attempt, false, (rules) => rules.inspect(address))
  }

  force(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    return this.#do(attempt, false, (rules) => rules.force(ask))
  }

  listen(): void {
    // This store pushes nothing.
  }

  attend(): void {
    // There is nothing to listen to.
  }

  close(): void {
    this.#transactions.close()
  }

  #do<R>(
    attempt: Attempt,
    expires: boolean,
    run: (rules: LockRules, late: boolean) => R,
  ): Promise<Answer<R>> {
    return new Promise((resolve, reject) => {
      this.#transactions.add({
        attempt,
        expires,
        run: (tables, late) => run(new LockRules(tables, this.process, null), late),
        settle: (answer) => resolve(answer as Answer<R>),
        fail: reject,
      })
    })
  }
}
