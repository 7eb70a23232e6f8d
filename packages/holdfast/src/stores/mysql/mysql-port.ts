import type { Finding } from '../../check/report.ts'
import type { ServerIdentity } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import type {
  GiveUp,
  SqlBounds,
  SqlFound,
  SqlKind,
  SqlMoment,
  SqlNeeds,
  SqlPort,
  SqlTransaction,
} from '../sql/port.ts'
import { durabilityOf } from '../sql/durability.ts'
import type { KnownFlavour, MysqlFlavour } from './flavour.ts'
import type { MysqlNames } from './names.ts'
import type { SqlTable } from '../sql/names.ts'
import { ANOTHER_HAS_IT, failureOf } from './refusal.ts'
import { MAX_KEY_BYTES } from './schema.ts'
import type { MysqlSession, MysqlSessions } from './session.ts'
import { COMMIT, foundIn, hasBegun, MysqlStatements, ROLLBACK, SWEPT_AT_ONCE } from './statements.ts'

const DEADLOCK = 1213
/** The session is in a transaction that somebody has left open. Undone with ours, it is there no more. */
const IN_TRANSACTION = 1568
/** By max_statement_time of MariaDB. */
const INTERRUPTED = 1969
const MOST_TRIES = 5
/** ER_UNKNOWN_SYSTEM_VARIABLE. */
const UNKNOWN_VARIABLE = 1193

/** MariaDB names itself by nothing that other machines could not share: so also since when it runs, to the second. */
const MARIADB_IDENTITY = `SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, UNIX_TIMESTAMP() - CAST(VARIABLE_VALUE AS UNSIGNED))
  FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'`

/** MySQL or MariaDB, as the shared part of the SQL stores sees it. */
export class MysqlPort implements SqlPort {
  readonly #sessions: MysqlSessions
  readonly #names: MysqlNames
  readonly #statements: MysqlStatements
  readonly #flavour: KnownFlavour

  constructor(sessions: MysqlSessions, names: MysqlNames, flavour: KnownFlavour) {
    this.#sessions = sessions
    this.#flavour = flavour
    this.#names = names
    this.#statements = new MysqlStatements(names)
  }

  get lateBy(): number {
    return this.#flavour.lateBy
  }

  async begin(needs: SqlNeeds, bounds: SqlBounds, giveUp: GiveUp): Promise<SqlTransaction> {
    checkKeys([...needs.keys, ...needs.replies])
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#begin(needs, bounds, giveUp)
      } catch (error) {
        // Some who make the same row meet at once, and one of them is sent away: nothing is wrong.
        const isPassing = [DEADLOCK, IN_TRANSACTION].includes(Number(numberOf(error)))
        if (!isPassing || tries === MOST_TRIES || giveUp.given) throw error
      }
    }
  }

  async #begin(needs: SqlNeeds, bounds: SqlBounds, giveUp: GiveUp): Promise<SqlTransaction> {
    const session = await this.#sessions.take()
    const one = new Transaction(this.#sessions, session)
    if (giveUp.given) {
      one.end(false)
      throw new Error('given up')
    }
    giveUp.onGiven(() => one.end(true))
    try {
      const flavour = await this.#flavour.of(session)
      one.flavour = flavour
      const lock = this.#statements.lock(needs.kind, needs.keys)
      const found = foundIn(await flavour.begin(session, lock, this.#statements.read(needs), bounds))
      const until = Math.floor(found.nowMicros / 1_000) + bounds.within
      return {
        found,
        commit: (changes) => one.commit(this.#statements.write(needs.kind, changes), until, bounds),
        rollback: () => one.rollback(),
        destroy: () => one.end(true),
      }
    } catch (error) {
      const cause = await this.#whatKept(session, needs, error)
      await one.rollback()
      throw cause
    }
  }

  /** Of a key that runs once it matters whether another transaction has it, or the server was slow: the error says neither. */
  async #whatKept(session: MysqlSession, { kind, keys }: SqlNeeds, error: unknown): Promise<unknown> {
    if (kind !== 'once' || numberOf(error) !== INTERRUPTED) return error
    return session.rows(this.#statements.probe(keys)).then(
      () => error,
      (kept: unknown) => (ANOTHER_HAS_IT.includes(numberOf(kept)) ? kept : error),
    )
  }

  async read(needs: SqlNeeds, _bounds: SqlBounds, giveUp: GiveUp): Promise<SqlFound> {
    checkKeys(needs.keys)
    return this.#with(giveUp, async (session) => {
      const rows = await session.rows(this.#statements.read(needs))
      // With autocommit off it would go on, and what is read next be as old as this.
      if (hasBegun(rows)) await session.change(COMMIT)
      return foundIn(rows)
    })
  }

  async sweep(kind: SqlKind, after: string, giveUp: GiveUp): Promise<string> {
    return this.#with(giveUp, async (session) => {
      if (kind === 'lock') await this.#sweepWaiters(session)
      if (kind === 'limit')
        await this.#sweepTable(session, 'limit_reply', 'id', this.#statements.sweepReplies())
      const next = await this.#sweepTable(session, kind, '`key`', this.#statements.sweepLook(kind, after))
      // With autocommit off looking has begun a transaction.
      await session.change(COMMIT)
      return next
    })
  }

  async durability(giveUp: GiveUp): Promise<Finding> {
    const [row] = await this.#with(giveUp, (session) =>
      session.rows('SELECT @@GLOBAL.innodb_flush_log_at_trx_commit'),
    )
    const flush = row?.[0] ?? ''
    const lost = flush === '0' ? 'crash' : flush === '1' ? 'nothing' : 'power'
    const setting = 'innodb_flush_log_at_trx_commit'
    return durabilityOf(lost, `${setting} ${flush}`, `${setting} 1`)
  }

  async identity(giveUp: GiveUp): Promise<ServerIdentity | null> {
    const ask = (query: string) => this.#with(giveUp, (session) => session.rows(query))
    try {
      const [row] = await ask('SELECT @@server_uuid').catch((error: unknown) => {
        if (numberOf(error) !== UNKNOWN_VARIABLE) throw error
        return ask(MARIADB_IDENTITY)
      })
      const server = row?.[0] ?? null
      return server === null ? null : { server, copies: null, dependent: null }
    } catch (error) {
      throw this.failureOf(error, 'before')
    }
  }

  failureOf(error: unknown, when: SqlMoment): StoreFailure {
    return failureOf(error, when, this.#names)
  }

  /** @param look reads the keys of rows, and whether each is over */
  async #sweepTable(session: MysqlSession, table: SqlTable, key: string, look: string): Promise<string> {
    const rows = await session.rows(look)
    const over = rows.filter(([, isOver]) => isOver === '1').map(([id]) => id ?? '')
    if (over.length > 0) {
      await inTransaction(session, async () => {
        const locked = await session.rows(this.#statements.sweepLock(table, key, over))
        const ids = locked.map(([id]) => id ?? '')
        if (ids.length > 0) await session.change(this.#statements.sweepDelete(table, key, ids))
      })
    }
    return rows.length < SWEPT_AT_ONCE ? '' : (rows.at(-1)?.[0] ?? '')
  }

  async #sweepWaiters(session: MysqlSession): Promise<void> {
    await inTransaction(session, async () => {
      const dead = (await session.rows(this.#statements.deadWaiters())) as readonly [string, string][]
      if (dead.length > 0) await session.change(this.#statements.deleteWaiters(dead))
    })
  }

  async #with<T>(giveUp: GiveUp, work: (session: MysqlSession) => Promise<T>): Promise<T> {
    const session = await this.#sessions.take()
    let over = false
    const end = (broken: boolean): void => {
      if (!over) this.#sessions.giveBack(session, broken)
      over = true
    }
    giveUp.onGiven(() => end(true))
    let broken = !giveUp.given
    try {
      if (giveUp.given) throw new Error('given up')
      const value = await work(session)
      broken = false
      return value
    } catch (error) {
      if (broken) broken = !isServerError(error)
      throw error
    } finally {
      end(broken)
    }
  }
}

/** One transaction, and the session it has. */
class Transaction {
  readonly #sessions: MysqlSessions
  readonly #session: MysqlSession
  flavour: MysqlFlavour | null = null
  #over = false

  constructor(sessions: MysqlSessions, session: MysqlSession) {
    this.#sessions = sessions
    this.#session = session
  }

  async commit(writes: readonly string[], until: number, bounds: SqlBounds): Promise<void> {
    try {
      await this.flavour?.commit(this.#session, writes, until, bounds)
    } catch (error) {
      await this.rollback()
      throw error
    }
    this.end(false)
  }

  async rollback(): Promise<void> {
    if (this.#over || this.flavour === null) return this.end(false)
    const undone = await this.flavour.rollback(this.#session).then(
      () => true,
      () => false,
    )
    this.end(!undone)
  }

  end(broken: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#sessions.giveBack(this.#session, broken)
  }
}

/** For the sweeper, whose statements wait for nobody. */
async function inTransaction(session: MysqlSession, work: () => Promise<void>): Promise<void> {
  await session.change('START TRANSACTION')
  try {
    await work()
    await session.change(COMMIT)
  } catch (error) {
    await session.change(ROLLBACK)
    throw error
  }
}

function isServerError(error: unknown): boolean {
  return typeof (error as { sqlState?: unknown } | null)?.sqlState === 'string'
}

function numberOf(error: unknown): unknown {
  return (error as { errno?: unknown } | null)?.errno
}

/** A server that is not strict would cut a longer key off without a word, and take two names for one. */
function checkKeys(keys: readonly string[]): void {
  const long = keys.find((key) => key.length * 3 > MAX_KEY_BYTES && Buffer.byteLength(key) > MAX_KEY_BYTES)
  if (long === undefined) return
  throw new StoreFailure(`the key ${long.slice(0, 40)}… has more than ${MAX_KEY_BYTES} bytes`, {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: 'key',
    remedy: 'Give a shorter name, prefix or exact key.',
  })
}
