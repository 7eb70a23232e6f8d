import { StoreFailure } from '../../store/failure.ts'
import type { SqlBounds } from '../sql/port.ts'
import { COMMIT, NOW_MICROS, ROLLBACK } from './statements.ts'
import type { Header, MysqlSession, Row } from './session.ts'

/** How MariaDB and MySQL differ in what a transaction of ours needs. */
export interface MysqlFlavour {
  /** For how many milliseconds beyond its bounds a transaction that is silent may still be committed. */
  readonly lateBy: number
  /** For how many milliseconds `lockAtOnce` may wait. */
  readonly waits: number
  /** Begins a transaction: takes the rows' locks by one statement, and reads by another. */
  begin(session: MysqlSession, lock: string, read: string, bounds: SqlBounds): Promise<readonly Row[]>
  /** Writes and commits, unless the database's clock is beyond `until` (milliseconds). */
  commit(session: MysqlSession, writes: readonly string[], until: number, bounds: SqlBounds): Promise<void>
  /** Undoes what is open. Rejects when the connection cannot be used any more. */
  rollback(session: MysqlSession): Promise<void>
  /**
   * Locks a row in a transaction of the caller's, and makes it where it is missing, without waiting for another transaction for longer
   * than `waits`. `null`, or 1205: another has it.
   *
   * @param lock makes the row, or locks it
   * @param turn an expression, the name of who may wait for it
   */
  lockAtOnce(session: MysqlSession, lock: string, turn: string): Promise<Header | null>
}

/** Our own error, raised when a commit comes too late; out of the range of the server's. */
export const LATE = 31_415

/** In seconds; the shortest that the servers know. They end a transaction that is silent for so long. */
const SILENCE_S = 1

/**
 * Everything in two messages, each a block of statements. A commit that is held up on its way is refused by the server, since the
 * block looks at the clock.
 */
export const mariadb: MysqlFlavour = {
  lateBy: 0,
  waits: 0,
  begin(session, lock, read, { lockWait }) {
    const statements = [
      `SET @holdfast_idle = @@SESSION.idle_transaction_timeout, SESSION idle_transaction_timeout = ${SILENCE_S}`,
      // Without locks on the gaps between rows, on which strangers would wait in circles.
      'SET TRANSACTION ISOLATION LEVEL READ COMMITTED',
      'START TRANSACTION',
      lock,
      'SAVEPOINT holdfast_begun',
      read,
    ]
    return session.block(block(statements, lockWait))
  },
  async commit(session, writes, until, { within }) {
    const late = `SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${LATE}, MESSAGE_TEXT = 'the commit came too late'`
    const statements = [
      // Fails where the transaction is not there any more.
      'RELEASE SAVEPOINT holdfast_begun',
      ...writes,
      `IF ${NOW_MICROS} > ${until * 1_000} THEN ${late}; END IF`,
      COMMIT,
      RESTORE_MARIADB,
    ]
    await session.block(block(statements, within))
  },
  async rollback(session) {
    await session.block(`BEGIN NOT ATOMIC ${ROLLBACK}; ${RESTORE_MARIADB}; END`)
  },
  lockAtOnce: (session, lock) => session.change(`SET STATEMENT innodb_lock_wait_timeout = 0 FOR ${lock}`),
}

const RESTORE_MARIADB =
  'SET SESSION idle_transaction_timeout = COALESCE(@holdfast_idle, @@GLOBAL.idle_transaction_timeout)'

/** @param within milliseconds, after which the server interrupts it */
function block(statements: readonly string[], within: number): string {
  return `SET STATEMENT max_statement_time = ${within / 1_000} FOR BEGIN NOT ATOMIC ${statements.join('; ')}; END`
}

/** One message for each statement. */
export const mysql: MysqlFlavour = {
  lateBy: SILENCE_S * 1_000,
  waits: SILENCE_S * 1_000,
  async begin(session, lock, read) {
    await session.change(
      'SET @holdfast_wait = @@SESSION.wait_timeout, @holdfast_lock = @@SESSION.innodb_lock_wait_timeout, ' +
        `SESSION wait_timeout = ${SILENCE_S}, SESSION innodb_lock_wait_timeout = ${SILENCE_S}`,
    )
    await session.change('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
    await session.change('START TRANSACTION')
    await session.change(lock)
    return session.rows(read)
  },
  async commit(session, writes, until) {
    for (const write of writes) await session.change(write)
    const [row] = await session.rows(`SELECT ${NOW_MICROS} > ${until * 1_000}`)
    if (row?.[0] === '1') throw tooLate()
    await session.change(COMMIT)
    await session.change(RESTORE_MYSQL)
  },
  async rollback(session) {
    await session.change(ROLLBACK)
    await session.change(RESTORE_MYSQL)
  },
  /**
   * A look with NOWAIT would lock the gap where the row is missing, and stand in the way of all keys that belong there. So the row is
   * made, with the shortest wait that there is, and by one at a time: of several whom a rollback lets go, all but one are ended by a
   * deadlock.
   */
  async lockAtOnce(session, lock, turn) {
    const [row] = await session.rows(`SELECT GET_LOCK(${turn}, 0)`)
    if (row?.[0] !== '1') return null
    try {
      await session.change(
        `SET @holdfast_lock = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = ${SILENCE_S}`,
      )
      return await session.change(lock)
    } finally {
      await session.change(`SET ${RESTORE_LOCK_WAIT}, @holdfast_lock = RELEASE_LOCK(${turn})`)
    }
  },
}

const RESTORE_LOCK_WAIT =
  'SESSION innodb_lock_wait_timeout = COALESCE(@holdfast_lock, @@GLOBAL.innodb_lock_wait_timeout)'
const RESTORE_MYSQL = `SET SESSION wait_timeout = COALESCE(@holdfast_wait, @@GLOBAL.wait_timeout), ${RESTORE_LOCK_WAIT}`

export function tooLate(cause?: unknown): StoreFailure {
  return new StoreFailure('the commit came too late, and was not made', {
    kind: 'refused',
    outcome: 'not-done',
    final: false,
    reason: 'late',
    cause,
  })
}

/** @param version as the server tells it, `10.11.6-MariaDB-log` or `8.0.36` */
export function flavourOf(version: string): MysqlFlavour {
  const [, major = '0', minor = '0'] = /^(?:5\.5\.5-)?(\d+)\.(\d+)/.exec(version) ?? []
  const [flavour, name, least] = /mariadb/i.test(version)
    ? ([mariadb, 'MariaDB', [10, 6]] as const)
    : ([mysql, 'MySQL', [8, 0]] as const)
  if (Number(major) > least[0] || (Number(major) === least[0] && Number(minor) >= least[1])) return flavour
  throw new StoreFailure(`the server is ${name} ${version}`, {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: 'version',
    remedy: `This store needs ${name} ${least.join('.')} or later, for SKIP LOCKED.`,
  })
}

/** Which of the two it is, asked once. */
export class KnownFlavour {
  #flavour: MysqlFlavour | null = null

  /** As far as is known by now. */
  get lateBy(): number {
    return this.#flavour?.lateBy ?? mysql.lateBy
  }

  /** As far as is known by now. */
  get waits(): number {
    return this.#flavour?.waits ?? mysql.waits
  }

  async of(session: MysqlSession): Promise<MysqlFlavour> {
    if (this.#flavour !== null) return this.#flavour
    const [row] = await session.rows('SELECT VERSION()')
    return (this.#flavour = flavourOf(row?.[0] ?? ''))
  }
}
