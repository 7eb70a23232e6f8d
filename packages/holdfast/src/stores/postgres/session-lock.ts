import { systemClock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { SessionLock, type LockSession, type SessionLockOptions } from '../sql/session-lock.ts'
import { literal } from './literal.ts'
import { PostgresNames } from './names.ts'
import { isPgPool, sendToPg, type PgClientLike, type PgPoolLike } from './pg-shapes.ts'
import { checkPgPool } from './pg.ts'
import { failureOf } from './refusal.ts'

/**
 * A session lock by Postgres' advisory locks: `pg_advisory_lock(hashtextextended(NAME, 0))`, so that whoever calls that excludes us and
 * we exclude him. No tables are needed. Each hold takes one connection of the pool for as long as it lasts: give a pool that has enough of
 * them. Not through a pooler that shares connections between transactions.
 *
 * Costs: two statements for a free lock, four for one that is waited for; one for its release, and one for each `check`.
 *
 * See {@link SessionLock} for what it promises, and what not: there is no fence, so the resource cannot tell a holder that was cut off.
 * In a transaction, `SELECT pg_advisory_xact_lock(hashtextextended(NAME, 0))` takes the same lock until its commit.
 *
 * @throws InvalidArgumentError for what is no pool of pg (postgres.js does not tell that a reserved connection was lost), or a wrong option
 */
export function postgresSessionLock(
  pool: PgPoolLike,
  name: string,
  options: SessionLockOptions = {},
): SessionLock {
  const given: unknown = pool
  if (typeof given !== 'object' || given === null || !isPgPool(given)) {
    throw new InvalidArgumentError('pool', given, {
      problem: 'is not a pool of pg',
      remedy: 'Give a Pool of pg with a connection to spare for each lock that is held.',
    })
  }
  checkPgPool(given)
  const names = new PostgresNames()
  return new SessionLock(name, options, {
    clock: systemClock,
    failureOf: (error) => failureOf(error, 'before', names),
    connect: async () => new PostgresLockSession((await given.connect()) as PooledClient),
  })
}

interface PooledClient extends PgClientLike {
  on(event: 'error' | 'end' | 'notification', listener: (...args: never[]) => void): unknown
  removeListener(event: 'error' | 'end' | 'notification', listener: (...args: never[]) => void): unknown
  release(broken?: boolean): void
}

const ignore = (): void => undefined

class PostgresLockSession implements LockSession {
  readonly #client: PooledClient
  #onLost: (cause: unknown) => void = ignore
  #closed = false
  readonly #lost = (cause?: unknown): void => this.#onLost(cause)

  constructor(client: PooledClient) {
    this.#client = client
    client.on('error', this.#lost)
    client.on('end', this.#lost)
  }

  async take(name: string, wait: number): Promise<boolean> {
    const key = `hashtextextended(${literal(name)}, 0)`
    const [got] = await sendToPg(this.#client, `SELECT pg_try_advisory_lock(${key})::text AS got`)
    if (got === 'true' || wait <= 0) return got === 'true'
    try {
      // A lock of the session outlives the transaction that is there for its time-out.
      await this.#client.query(
        `BEGIN; SET LOCAL lock_timeout = ${wait}; SET LOCAL statement_timeout = 0; SELECT pg_advisory_lock(${key}); COMMIT`,
      )
      return true
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03') throw error
      await this.#client.query('ROLLBACK')
      return false
    }
  }

  async giveBack(name: string): Promise<boolean> {
    const key = `hashtextextended(${literal(name)}, 0)`
    const [held] = await sendToPg(this.#client, `SELECT pg_advisory_unlock(${key})::text AS held`)
    return held === 'true'
  }

  check(): Promise<unknown> {
    return this.#client.query('SELECT 1')
  }

  onLost(run: (cause: unknown) => void): void {
    this.#onLost = run
  }

  close(broken: boolean): void {
    if (this.#closed) return
    this.#closed = true
    this.#client.removeListener('error', this.#lost)
    this.#client.removeListener('end', this.#lost)
    if (broken) this.#client.on('error', ignore)
    this.#client.release(broken)
  }
}
