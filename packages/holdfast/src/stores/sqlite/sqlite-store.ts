import { checkNoOptions } from '../../options.ts'
import type { OpenStore, Store, StoreContext, StoreTraits } from '../../store/contract.ts'
import { LimitRules } from '../../store/limit/limit-rules.ts'
import { RulesLimitStore } from '../../store/limit/rules-limit-store.ts'
import { LockRules } from '../../store/lock-rules.ts'
import { OnceRules } from '../../store/once/once-rules.ts'
import { RulesOnceStore } from '../../store/once/rules-once-store.ts'
import { newProcessName } from '../../store/owner.ts'
import { RulesLockStore } from '../../store/rules-lock-store.ts'
import { SqlTransactionalOnce } from '../sql/transactional-once.ts'
import { checkDatabase, type SqliteDatabase } from './database.ts'
import { SqliteSession } from './session.ts'
import { Transactions } from './transactions.ts'

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'poll', clock: 'machine', durable: 'disk' }

/**
 * A store in a SQLite file, for the processes of one machine, over a better-sqlite3 connection of yours.
 *
 * The connection must be for this store alone: it is set to WAL and never waits inside the driver, which would block the
 * event loop; a busy database is tried again by timers of ours. It is never closed by us. An in-memory database (`:memory:`)
 * works and excludes only within this process. A file on a network file system is not safe with SQLite.
 *
 * Costs: every operation is one short write transaction on the calling thread, some tens of microseconds; those of one turn
 * of the event loop share one. Nobody is woken: waiters ask again by themselves, and a process that asks for the same lock
 * again and again stands back for those who have waited for half a second. Tables `holdfast_lock`, `holdfast_queue`,
 * `holdfast_last_fence`, `holdfast_limit`, `holdfast_limit_reply`, `holdfast_once` and `holdfast_meta` are made at first use and stay
 * in proportion to what is in use: what is written clears away rows that are over. A decision of a limit reads and writes one row with all
 * usage of its subject; for an exact window that is some ten bytes for each millisecond in which something was counted.
 *
 * Promises under failure: what was answered outlives kill -9 of any process; a power loss may take the last moments along,
 * with all who held something then. Expiry and fences go by the machine's wall clock: set forward, it ends leases early
 * (holders end too); set back, it prolongs them, and fences still rise as long as the file is kept.
 *
 * @throws InvalidArgumentError for something that is not such a database, or one that is closed, read-only or in a
 * transaction; calls reject with the same when it is closed or in a transaction later
 */
export function sqliteStore(database: SqliteDatabase, ...none: never[]): Store {
  checkDatabase(database)
  checkNoOptions(none, 'sqliteStore')
  const session = new SqliteSession(database)
  return { kind: 'sqlite', traits: TRAITS, open: (context) => openSqlite(session, context) }
}

function openSqlite(session: SqliteSession, context: StoreContext): OpenStore {
  const transactions = new Transactions(session, context.clock, context.randomness)
  const process = newProcessName(context.randomness)
  return {
    locks: new RulesLockStore(
      process,
      transactions.steps((tables) => new LockRules(tables, process, null)),
      null,
      () => Promise.resolve({ server: session.identity, copies: null, dependent: null }),
    ),
    limits: new RulesLimitStore(transactions.steps((tables) => new LimitRules(tables.limits))),
    once: new RulesOnceStore(
      transactions.steps((tables) => new OnceRules(tables.once)),
      { within: (transaction) => new SqlTransactionalOnce(session.within(transaction), context.clock) },
    ),
    close: async () => transactions.close(),
  }
}
