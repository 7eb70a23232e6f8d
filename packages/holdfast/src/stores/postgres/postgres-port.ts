import type { Finding } from '../../check/report.ts'
import type { ServerIdentity } from '../../store/contract.ts'
import type { StoreFailure } from '../../store/failure.ts'
import type {
  GiveUp,
  SqlBounds,
  SqlChanges,
  SqlFound,
  SqlKind,
  SqlMoment,
  SqlNeeds,
  SqlPort,
  SqlTransaction,
} from '../sql/port.ts'
import { durabilityOf } from '../sql/durability.ts'
import type { PostgresNames } from './names.ts'
import type { PostgresClientPort } from './port.ts'
import { failureOf, isReadOnly, readOnlyTransaction } from './refusal.ts'
import { DURABILITY, foundIn, IDENTITY, IS_STANDBY, PostgresStatements } from './statements.ts'

/** insufficient_privilege and undefined_function: services that speak like Postgres. */
const NOT_TOLD: readonly unknown[] = ['42501', '42883']

/** Postgres, as the shared part of the SQL stores sees it. */
export class PostgresPort implements SqlPort {
  readonly #client: PostgresClientPort
  readonly #names: PostgresNames
  readonly #statements: PostgresStatements

  constructor(client: PostgresClientPort, names: PostgresNames) {
    this.#client = client
    this.#names = names
    this.#statements = new PostgresStatements(names)
  }

  async begin(needs: SqlNeeds, bounds: SqlBounds, giveUp: GiveUp): Promise<SqlTransaction> {
    const transaction = await this.#client
      .begin(this.#statements.open(needs, bounds), giveUp)
      .catch((error: unknown) => this.#refused(error, giveUp))
    return {
      found: foundIn(transaction.reply),
      commit: (changes: SqlChanges) => transaction.commit(this.#statements.write(needs.kind, changes)),
      rollback: () => transaction.rollback(),
      destroy: () => transaction.destroy(),
    }
  }

  async read(needs: SqlNeeds, _bounds: SqlBounds, giveUp: GiveUp): Promise<SqlFound> {
    return foundIn(await this.#client.query(this.#statements.read(needs), giveUp))
  }

  sweep(kind: SqlKind, after: string, giveUp: GiveUp): Promise<string> {
    return this.#client.query(this.#statements.sweep(kind, after), giveUp)
  }

  async #refused(error: unknown, giveUp: GiveUp): Promise<never> {
    if (!isReadOnly(error)) throw error
    const ask = `SELECT ${IS_STANDBY}::text AS state`
    const standby = await this.#client.query(ask, giveUp).catch(() => 'unknown')
    if (standby !== 'false') throw error
    // Some services forbid writing for a while, as when the disk is full.
    throw readOnlyTransaction(error, false)
  }

  async durability(giveUp: GiveUp): Promise<Finding> {
    const [commit = '', fsync = ''] = (await this.#client.query(DURABILITY, giveUp)).split(' ')
    const saw = `synchronous_commit ${commit}, fsync ${fsync}`
    const lost = commit === 'off' ? 'crash' : fsync === 'on' ? 'nothing' : 'power'
    return durabilityOf(lost, saw, 'synchronous_commit and fsync on')
  }

  async identity(giveUp: GiveUp): Promise<ServerIdentity | null> {
    try {
      const server = await this.#client.query(IDENTITY, giveUp)
      return { server, copies: server.split(' ', 1)[0] ?? null, dependent: null }
    } catch (error) {
      if (NOT_TOLD.includes((error as { code?: unknown }).code)) return null
      throw this.failureOf(error, 'before')
    }
  }

  failureOf(error: unknown, when: SqlMoment): StoreFailure {
    return failureOf(error, when, this.#names)
  }
}
