import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { TextRow } from '../sql/port.ts'
import type { OnceLook, SqlCallersTransaction } from '../sql/transactional-once.ts'
import type { PostgresNames } from './names.ts'
import { isPgClient, isPgPool, sendToPg } from './pg-shapes.ts'
import { isPostgresJs, isPostgresJsScope, sendToPostgresJs } from './postgres-js.ts'
import { failureOf, isReadOnly, readOnlyTransaction } from './refusal.ts'
import { foundIn, PostgresStatements } from './statements.ts'

/** Sends statements in one message; the text in the first column of the last row of each that brought one. */
type Send = (statements: string) => Promise<readonly string[]>

/** A transaction of the caller's on a connection of pg, or the `sql` that postgres.js hands to the function of `begin`. */
export class PostgresCallersTransaction implements SqlCallersTransaction {
  readonly stopsOthers = false
  readonly #send: Send
  readonly #names: PostgresNames
  readonly #statements: PostgresStatements
  #isStandby = false

  /** @throws InvalidArgumentError when it is not one of a client that we know */
  constructor(transaction: unknown, names: PostgresNames) {
    this.#send = sendOf(transaction)
    this.#names = names
    this.#statements = new PostgresStatements(names)
  }

  async look(key: string): Promise<OnceLook> {
    const [about = '{}', state = '{}'] = await this.#send(this.#statements.look(key))
    const { inside, turn, standby } = JSON.parse(about) as Record<string, boolean | null>
    if (inside !== true) throw notInside()
    this.#isStandby = standby === true
    const { nowMicros, texts } = foundIn(state)
    return { now: Math.floor(nowMicros / 1_000), row: texts.get(key) ?? null, turn: turn === true }
  }

  async put(key: string, row: TextRow | null, before: TextRow | null): Promise<boolean> {
    const [changed] = await this.#send(this.#statements.put(key, row, before))
    return changed === 'true'
  }

  failureOf(error: unknown): StoreFailure {
    const failure =
      isReadOnly(error) && !this.#isStandby
        ? readOnlyTransaction(error, true)
        : failureOf(error, 'before', this.#names)
    const { message, kind, outcome, final, reason, remedy, cause } = failure
    const next = final ? 'Roll the transaction back.' : 'Roll the transaction back, and run it again.'
    return new StoreFailure(message, {
      kind,
      outcome,
      final,
      reason,
      cause,
      remedy: `${remedy} ${next}`.trim(),
    })
  }
}

function sendOf(transaction: unknown): Send {
  if (isPostgresJs(transaction))
    throw unfit('sql itself', 'is no transaction: each statement takes a connection of its own')
  if (isPostgresJsScope(transaction)) return (statements) => sendToPostgresJs(transaction, statements)
  if (typeof transaction === 'object' && transaction !== null) {
    if (isPgPool(transaction))
      throw unfit('a pool of pg', 'is no transaction: each statement takes a connection of its own')
    if (isPgClient(transaction)) return (statements) => sendToPg(transaction, statements)
  }
  throw unfit(transaction, 'is not a transaction of a client that we know')
}

function notInside(): InvalidArgumentError {
  return unfit('the connection', 'is in no transaction: the record would be committed by itself')
}

function unfit(value: unknown, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('transaction', value, {
    problem,
    remedy: `Give the client of pg on which you ran BEGIN, or what postgres.js hands to sql.begin(async (tx) => { … }).`,
  })
}
