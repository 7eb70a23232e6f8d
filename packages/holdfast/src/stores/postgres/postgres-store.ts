import { systemClock, type Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { kindOf } from '../../show.ts'
import type { Store, StoreTraits } from '../../store/contract.ts'
import { migrateInTime, type MigrateOptions } from '../sql/migration.ts'
import { openSql, type SqlParts } from '../sql/open-sql.ts'
import { PostgresCallersTransaction } from './callers-transaction.ts'
import { migrate } from './migrate.ts'
import { namesFor, type PostgresNames, type PostgresTableOptions } from './names.ts'
import { isPgClient, isPgPool, type PgClientLike, type PgPoolLike } from './pg-shapes.ts'
import { checkPgPool, PgClientPort, PgPoolPort } from './pg.ts'
import type { PostgresClientPort } from './port.ts'
import { isPostgresJs, PostgresJsPort, type PostgresJsLike } from './postgres-js.ts'
import { PostgresPort } from './postgres-port.ts'
import { channelOf } from './statements.ts'
import { postgresWakeChannel } from './wake-channel.ts'

/** A client that can be handed over: a `Pool` or a `Client` of pg, or `sql` of postgres.js. */
export type PostgresClient = PgPoolLike | PgClientLike | PostgresJsLike

/** What {@link postgresStore} takes: where its tables are. */
export type PostgresStoreOptions = PostgresTableOptions

/** A store in Postgres, with the means to make its tables. */
export interface PostgresStore extends Store {
  /**
   * Makes the tables where they are missing; one transaction. May be called at every start, by several processes at once.
   * Settles within its `budget`, 30 s unless set; what is not committed by then is not made.
   *
   * @throws InvalidArgumentError, StoreUnavailableError, StoreRefusedError (a right is missing, or a later version of this library made the tables)
   */
  migrate(options?: MigrateOptions): Promise<void>
}

const TRAITS: StoreTraits = { fences: 'clocked', wake: 'push', clock: 'server', durable: 'server' }

/**
 * A store in a Postgres database (12 or later), over a client of yours: a `Pool` of pg, `sql` of postgres.js, or a `Client` of pg
 * that is for this store alone. It is never closed by us. The tables have to be made first: `await store.migrate()`, or the
 * statements of {@link postgresSchema}.
 *
 * Costs: every operation is one short transaction at READ COMMITTED; operations of one turn of the event loop share one. With pg it
 * is two round trips, with postgres.js four; reads are one. While somebody waits or holds for longer, one more connection is
 * opened to LISTEN on. A name that was locked keeps its row for a day, with its last fence; all other rows go when they are over,
 * cleared away by those who write.
 *
 * Promises under failure: a lock is as durable as a committed transaction. Expiry goes by the database's clock. Fences rise in the
 * order of grants: clock and last fence are read when the row of the lock is locked. A request that is held up on its way does
 * nothing late, since the database ends a transaction that is silent for a third of the budget. A failover to a standby that had not got
 * the last transactions loses their locks; fences still rise while the servers' clocks agree to within the time between
 * the two grants.
 *
 * A pooler between must keep a connection for a whole transaction; one that does so for no longer (PgBouncer by `transaction`)
 * makes nothing of LISTEN, and waiters then ask about once in a second.
 *
 * @throws InvalidArgumentError for something that is not such a client, a pool that was ended, or a wrong option
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): PostgresStore {
  const names = namesFor(options, 'postgresStore')
  const connect = portFor(client)
  return {
    kind: 'postgres',
    traits: TRAITS,
    migrate: (wish) =>
      migrateInTime(wish, async (migration) => {
        const port = connect(systemClock)
        await migrate(port, names, migration).finally(() => port.detach())
      }),
    open: (context) =>
      openSql(context, (process) => parts(connect(context.clock), names, context.clock, process)),
  }
}

function parts(client: PostgresClientPort, names: PostgresNames, clock: Clock, process: string): SqlParts {
  return {
    port: new PostgresPort(client, names),
    channel: postgresWakeChannel(client, clock, channelOf(process)),
    within: (transaction) => new PostgresCallersTransaction(transaction, names),
    end: () => client.detach(),
  }
}

function portFor(client: unknown): (clock: Clock) => PostgresClientPort {
  if (isPostgresJs(client)) return () => new PostgresJsPort(client)
  if (typeof client === 'object' && client !== null) {
    if (isPgPool(client)) {
      checkPgPool(client)
      return (clock) => new PgPoolPort(client, clock)
    }
    if (isPgClient(client)) {
      // All openings share it, and their transactions go one after another.
      const port = new PgClientPort(client)
      return () => port
    }
  }
  throw new InvalidArgumentError('client', kindOf(client), {
    problem: 'is not a Postgres client that we know',
    remedy: 'Give a Pool or a Client of pg, or sql of postgres.js.',
  })
}
