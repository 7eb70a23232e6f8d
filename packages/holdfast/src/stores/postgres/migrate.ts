import { StoreRefusedError } from '../../errors.ts'
import { publicError } from '../../store/failure.ts'
import { literal } from './literal.ts'
import type { PostgresNames } from './names.ts'
import type { PostgresClientPort } from './port.ts'
import { failureOf } from './refusal.ts'
import type { Migration } from '../sql/migration.ts'
import type { GiveUp } from '../sql/port.ts'
import { SCHEMA_VERSION, schemaText, TABLES } from './schema.ts'

/**
 * Makes the tables where they are missing; where all are there, it only looks, so that a user without the right to make tables may call it. Those
 * who make them at once wait for each other: two `CREATE TABLE IF NOT EXISTS` that meet would fail.
 *
 * @throws StoreUnavailableError, StoreRefusedError; also when a later version of this library made the tables
 */
export async function migrate(
  client: PostgresClientPort,
  names: PostgresNames,
  migration: Migration,
): Promise<void> {
  const found = (await look(client, names, migration)) || (await make(client, names, migration))
  if (found === SCHEMA_VERSION) return
  throw new StoreRefusedError(
    `The tables of ${names.of('lock')} and the others are of schema ${found}, this version knows schema ${SCHEMA_VERSION}. ` +
      'Use the version of Holdfast that made them, or another tablePrefix.',
    { retryable: false, outcome: 'not-done', reason: 'SCHEMA' },
  )
}

/** The version of the tables; empty when not all of them are there. */
async function look(client: PostgresClientPort, names: PostgresNames, giveUp: GiveUp): Promise<string> {
  const all = TABLES.map((table) => `to_regclass(${literal(names.of(table))}) IS NOT NULL`).join(' AND ')
  const statement = `SELECT CASE WHEN ${all} THEN (${versionIn(names)}) ELSE '' END AS state`
  try {
    return await client.query(statement, giveUp)
  } catch {
    // Without the table of versions it cannot even be asked; all else will be told when the tables are made.
    return ''
  }
}

async function make(client: PostgresClientPort, names: PostgresNames, migration: Migration): Promise<string> {
  migration.assertGoing()
  const turn = `SELECT pg_advisory_xact_lock(hashtextextended(${literal(`holdfast migrate ${names.of('meta')}`)}, 0))`
  const quiet = "SET LOCAL client_min_messages = 'warning'"
  try {
    const transaction = await client.begin(
      [quiet, turn, schemaText(names) + versionIn(names)].join(';\n'),
      migration,
    )
    // Until it is committed nothing is done.
    migration.changing = true
    if (migration.given) await transaction.rollback()
    else if (transaction.reply === SCHEMA_VERSION) await transaction.commit('SELECT 1')
    else await transaction.rollback()
    return transaction.reply
  } catch (error) {
    const failure = failureOf(error, 'commit', names)
    throw publicError(
      { kind: failure.outcome === 'unknown' ? 'unknown' : 'refused', failure },
      'Making the tables',
    )
  }
}

function versionIn(names: PostgresNames): string {
  return `SELECT value FROM ${names.of('meta')} WHERE name = 'schema'`
}
