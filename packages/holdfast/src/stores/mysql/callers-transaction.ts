import { InvalidArgumentError } from '../../errors.ts'
import type { StoreFailure } from '../../store/failure.ts'
import type { TextRow } from '../sql/port.ts'
import type { OnceLook, SqlCallersTransaction } from '../sql/transactional-once.ts'
import type { KnownFlavour } from './flavour.ts'
import type { MysqlNames } from './names.ts'
import { ANOTHER_HAS_IT, failureOf } from './refusal.ts'
import { isMysqlConnection, isMysqlPool, MysqlSession } from './session.ts'
import { MysqlStatements } from './statements.ts'

/** Of the status that the server sends with every answer: a transaction is open. */
const IN_TRANSACTION = 1

/** A transaction of the caller's on a connection of mysql2. */
export class MysqlCallersTransaction implements SqlCallersTransaction {
  /** The row stays locked until the transaction ends: whoever runs without one could not store its outcome meanwhile. */
  stopsOthers = false
  readonly #session: MysqlSession
  readonly #names: MysqlNames
  readonly #statements: MysqlStatements
  readonly #flavour: KnownFlavour

  /** @throws InvalidArgumentError when it is not a connection that we know */
  constructor(transaction: unknown, names: MysqlNames, flavour: KnownFlavour) {
    this.#session = sessionOf(transaction)
    this.#names = names
    this.#flavour = flavour
    this.#statements = new MysqlStatements(names)
  }

  get waits(): number {
    return this.#flavour.waits
  }

  /**
   * The row itself is the turn: made or locked by one statement. What is read then is read with a lock, since the snapshot of
   * the transaction may be older than the row.
   */
  async look(key: string): Promise<OnceLook> {
    const turn = await this.#takeTurn(key)
    this.stopsOthers = turn
    const look = turn ? this.#statements.lookLocked(key) : this.#statements.lookPast(key)
    const [row] = await this.#session.rows(look)
    if (row === undefined) return { now: await this.#now(), row: null, turn }
    const [now, value, expires] = row
    const isPlaceholder = value === '' || value === null
    return {
      now: Number(now),
      row: isPlaceholder ? null : { value: value ?? '', expires: Number(expires) },
      turn,
    }
  }

  async put(key: string, row: TextRow | null, before: TextRow | null): Promise<boolean> {
    const { affectedRows, info } = await this.#session.change(this.#statements.put(key, row, before))
    const matched = /Rows matched: (\d+)/.exec(info)?.[1]
    return Number(matched ?? affectedRows) === 1
  }

  failureOf(error: unknown): StoreFailure {
    return failureOf(error, 'before', this.#names)
  }

  async #takeTurn(key: string): Promise<boolean> {
    const flavour = await this.#flavour.of(this.#session)
    const lock = this.#statements.lock('once', [key])
    try {
      const locked = await flavour.lockAtOnce(this.#session, lock, this.#statements.turn(key))
      if (locked === null) return false
      if ((locked.serverStatus & IN_TRANSACTION) === 0) throw notInside()
      return true
    } catch (error) {
      if (ANOTHER_HAS_IT.includes((error as { errno?: unknown } | null)?.errno)) return false
      throw error
    }
  }

  async #now(): Promise<number> {
    const [row] = await this.#session.rows(this.#statements.now())
    return Number(row?.[0])
  }
}

function sessionOf(transaction: unknown): MysqlSession {
  if (typeof transaction === 'object' && transaction !== null) {
    if (isMysqlPool(transaction))
      throw unfit('a pool of mysql2', 'is no transaction: each statement takes a connection of its own')
    if (isMysqlConnection(transaction)) return new MysqlSession(transaction)
  }
  throw unfit(transaction, 'is not a transaction of a client that we know')
}

function notInside(): InvalidArgumentError {
  return unfit('the connection', 'is in no transaction: the record would be committed by itself')
}

function unfit(value: unknown, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('transaction', value, {
    problem,
    remedy: 'Give the connection of mysql2 on which you called beginTransaction().',
  })
}
