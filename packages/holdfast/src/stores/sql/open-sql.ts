import type { Finding } from '../../check/report.ts'
import type { Attempt } from '../../store/attempt.ts'
import type { OpenStore, ServerIdentity, StoreContext } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import { LimitRules } from '../../store/limit/limit-rules.ts'
import { RulesLimitStore } from '../../store/limit/rules-limit-store.ts'
import { LockRules } from '../../store/lock-rules.ts'
import { OnceRules } from '../../store/once/once-rules.ts'
import { RulesOnceStore } from '../../store/once/rules-once-store.ts'
import { newProcessName } from '../../store/owner.ts'
import { RulesLockStore } from '../../store/rules-lock-store.ts'
import type { WakeChannel } from '../../store/wake-channel.ts'
import { askWithin } from './durability.ts'
import { inGivenTime } from './given-time.ts'
import { SqlLockTables } from './lock-tables.ts'
import type { SqlKind, SqlPort } from './port.ts'
import type { SqlSpace } from './space.ts'
import { SqlLimitTables, SqlOnceTables } from './text-tables.ts'
import { SqlTransactionalOnce, type SqlCallersTransaction } from './transactional-once.ts'
import { SqlTransactions } from './transactions.ts'

/** What databases say when a wait for a row was in vain: lock_not_available of Postgres, ER_LOCK_WAIT_TIMEOUT of MySQL. */
const ROW_KEPT = new Set(['55P03', '1205'])

/** What an opening of a store over SQL is made of. */
export interface SqlParts {
  readonly port: SqlPort
  /** By which processes are told something; `null` where they have to ask. */
  readonly channel: WakeChannel | null
  /** What is done in a transaction of the caller's. Throws an InvalidArgumentError when it is none. */
  readonly within: (transaction: unknown) => SqlCallersTransaction
  /** Takes off the client what was put on it. */
  readonly end: () => void
}

/**
 * Opens a store over a database.
 *
 * @param connect is given the name of this opening among all processes
 */
export function openSql(context: StoreContext, connect: (process: string) => SqlParts): OpenStore {
  const process = newProcessName(context.randomness)
  const { port, channel, within, end } = connect(process)
  const of = (kind: SqlKind): SqlTransactions => new SqlTransactions(port, context.clock, kind)
  const [locks, limits, once] = [of('lock'), of('limit'), of('once')]
  const lockRules = (space: SqlSpace, key: string): LockRules => {
    const tables = new SqlLockTables(space, key)
    return new LockRules(tables, process, channel === null ? null : tables)
  }
  const { clock } = context
  const identify = ({ until }: Attempt): Promise<ServerIdentity | null> =>
    inGivenTime(clock, until - clock.monotonic(), (giveUp) => port.identity(giveUp))
  return {
    locks: new RulesLockStore(process, locks.steps(lockRules), channel, identify),
    limits: new RulesLimitStore(limits.steps((space) => new LimitRules(new SqlLimitTables(space)))),
    once: new RulesOnceStore(
      once.steps((space) => new OnceRules(new SqlOnceTables(space))),
      {
        within: (transaction) => new SqlTransactionalOnce(within(transaction), context.clock),
        isKept: (error) => error instanceof StoreFailure && ROW_KEPT.has(error.reason),
      },
    ),
    check: async (budget) => {
      const ask = (): Promise<Finding> => inGivenTime(clock, budget, (giveUp) => port.durability(giveUp))
      return { findings: [await askWithin(clock, budget, ask)], rights: null }
    },
    close: async () => {
      for (const transactions of [locks, limits, once]) transactions.close()
      await channel?.close()
      end()
    },
  }
}
