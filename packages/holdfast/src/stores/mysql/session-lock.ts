import { createHash } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { SessionLock, type LockSession, type SessionLockOptions } from '../sql/session-lock.ts'
import { literal } from './literal.ts'
import { MysqlNames } from './names.ts'
import { failureOf } from './refusal.ts'
import {
  checkMysqlClient,
  isMysqlPool,
  PoolSessions,
  type MysqlPoolLike,
  type MysqlSession,
} from './session.ts'

/**
 * A session lock by `GET_LOCK(NAME, …)`, so that whoever calls that on the same server excludes us and we exclude him. No tables are needed. Each
 * hold takes one connection of the pool for as long as it lasts: give a pool that has enough of them. Not through a proxy that shares
 * connections.
 *
 * The servers take names that differ in case only for one; a name of more than 64 bytes, or with a NUL, is replaced by a
 * hash of it. A wait shorter than a second is rounded to whole seconds by MySQL.
 *
 * Costs: one statement for the lock, one for its release, and one for each `check`.
 *
 * See {@link SessionLock} for what it promises, and what not: there is no fence, so the resource cannot tell a holder that was cut off, and a
 * guard refuses such a hold. The lock is one server's: a failover frees it.
 *
 * @throws InvalidArgumentError for what is no pool of mysql2, or a wrong option
 */
export function mysqlSessionLock(
  pool: MysqlPoolLike,
  name: string,
  options: SessionLockOptions = {},
): SessionLock {
  const given: unknown = pool
  if (typeof given !== 'object' || given === null || !isMysqlPool(given)) {
    throw new InvalidArgumentError('pool', given, {
      problem: 'is not a pool of mysql2',
      remedy: 'Give a pool (createPool) with a connection to spare for each lock that is held.',
    })
  }
  checkMysqlClient(given)
  const sessions = new PoolSessions(given)
  const names = new MysqlNames()
  return new SessionLock(name, options, {
    clock: systemClock,
    failureOf: (error) => failureOf(error, 'before', names),
    connect: async () => new MysqlLockSession(sessions, await sessions.take()),
  })
}

const MAX_NAME_BYTES = 64

/** In hexadecimal digits, since the servers do not tell cases apart. To them a name ends where a NUL stands. */
function lockName(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES && !name.includes('\0')) return literal(name)
  return `'holdfast:${createHash('sha256').update(name, 'utf8').digest('hex').slice(0, 50)}'`
}

class MysqlLockSession implements LockSession {
  readonly #sessions: PoolSessions
  readonly #session: MysqlSession
  #onLost: (cause: unknown) => void = () => undefined
  #closed = false
  readonly #stopListening: () => void

  constructor(sessions: PoolSessions, session: MysqlSession) {
    this.#sessions = sessions
    this.#session = session
    this.#stopListening = session.onGone((cause) => this.#onLost(cause))
  }

  async take(name: string, wait: number): Promise<boolean> {
    const [row] = await this.#session.rows(`SELECT GET_LOCK(${lockName(name)}, ${wait / 1_000})`)
    const got = row?.[0]
    if (got === null || got === undefined) throw new Error('GET_LOCK failed: the wait for it was ended')
    return got === '1'
  }

  async giveBack(name: string): Promise<boolean> {
    const [row] = await this.#session.rows(`SELECT RELEASE_LOCK(${lockName(name)})`)
    return row?.[0] === '1'
  }

  check(): Promise<unknown> {
    return this.#session.rows('SELECT 1')
  }

  onLost(run: (cause: unknown) => void): void {
    this.#onLost = run
  }

  close(broken: boolean): void {
    if (this.#closed) return
    this.#closed = true
    this.#stopListening()
    this.#sessions.giveBack(this.#session, broken)
  }
}
