import { InvalidArgumentError } from '../../errors.ts'
import { kindOf } from '../../show.ts'
import type { Store, StoreTraits } from '../../store/contract.ts'
import { migrateInTime, type MigrateOptions } from '../sql/migration.ts'
import { openSql } from '../sql/open-sql.ts'
import { MysqlCallersTransaction } from './callers-transaction.ts'
import { KnownFlavour } from './flavour.ts'
import { migrate } from './migrate.ts'
import { MysqlPort } from './mysql-port.ts'
import { namesFor, type MysqlTableOptions } from './names.ts'
import {
  checkMysqlClient,
  isMysqlConnection,
  isMysqlPool,
  PoolSessions,
  SingleSession,
  type MysqlConnectionLike,
  type MysqlPoolLike,
  type MysqlSessions,
} from './session.ts'

/** A client that can be handed over: a pool or a connection of mysql2, of `mysql2/promise` or with callbacks. */
export type MysqlClient = MysqlPoolLike | MysqlConnectionLike

/** What the store takes beside its client. */
export type MysqlStoreOptions = MysqlTableOptions

/** A store in MySQL or MariaDB, with the means to make its tables. */
export interface MysqlStore extends Store {
  /**
   * Makes the tables where they are missing. May be called at every start, by several processes at once.
   * Settles within its `budget`, 30 s unless set; what was sent by then may be done all the same. One connection that is for the store alone is
   * ended when it does not answer.
   *
   * @throws InvalidArgumentError, StoreUnavailableError, StoreRefusedError (a right is missing, the server is too old, or a later version of this
   *   library made the tables)
   */
  migrate(options?: MigrateOptions): Promise<void>
}

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'poll', clock: 'server', durable: 'server' }

/**
 * A store in MariaDB (10.6 or later) or MySQL (8.0 or later) with InnoDB, over a client of yours: a pool of mysql2, or a
 * connection that is for this store alone. It is never closed by us. The tables have to be made first: `await store.migrate()`, or
 * the statements of {@link mysqlSchema}.
 *
 * Costs: every operation is one short transaction; operations of one turn of the event loop share one. On MariaDB it is two round
 * trips (blocks of statements), on MySQL seven to ten, one for each statement; reads are one. Nobody is woken: waiters ask again by
 * themselves, and a process that asks for the same lock again and again stands back for those who have waited for half a second. A
 * name that was locked keeps its row for a day, with its last fence; all other rows go when they are over, cleared away by those who
 * write.
 *
 * Promises under failure: a lock is as durable as a committed transaction. Expiry goes by the database's clock, in UTC. Fences rise in
 * the order of grants: clock and last fence are read when the row of the lock is locked. A request that is held up on its way does
 * nothing late: MariaDB refuses a commit that comes after its time; MySQL ends a transaction that is silent for a second. Row locks
 * of a process that was stopped in the middle of a transaction are free after a second on both. A failover to a replica that had not
 * got the last transactions loses their locks; fences still rise while the servers' clocks agree to within the time between the
 * two grants.
 *
 * While a transaction of ours runs, its session has another `idle_transaction_timeout` (MySQL: `wait_timeout` and
 * `innodb_lock_wait_timeout`) and user variables `@holdfast_…`; afterwards the old values.
 *
 * @throws InvalidArgumentError for something that is not such a client, one that was ended, or a wrong option
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): MysqlStore {
  const names = namesFor(options, 'mysqlStore')
  const sessions = sessionsOf(client)
  return {
    kind: 'mysql',
    traits: TRAITS,
    migrate: (wish) =>
      migrateInTime(wish, async (migration) => {
        const opened = sessions()
        await migrate(opened, names, migration)
      }),
    open: (context) =>
      openSql(context, () => {
        const opened = sessions()
        const flavour = new KnownFlavour()
        return {
          port: new MysqlPort(opened, names, flavour),
          channel: null,
          within: (transaction) => new MysqlCallersTransaction(transaction, names, flavour),
          end: () => opened.detach(),
        }
      }),
  }
}

function sessionsOf(client: unknown): () => MysqlSessions {
  if (typeof client === 'object' && client !== null) {
    if (isMysqlPool(client)) {
      checkMysqlClient(client)
      return () => new PoolSessions(client)
    }
    if (isMysqlConnection(client)) {
      checkMysqlClient(client)
      // All openings share it, and their transactions go one after another.
      const single = new SingleSession(client)
      return () => single
    }
  }
  throw new InvalidArgumentError('client', kindOf(client), {
    problem: 'is not a client of MySQL that we know',
    remedy: 'Give a pool or a connection of mysql2 (createPool, createConnection).',
  })
}
