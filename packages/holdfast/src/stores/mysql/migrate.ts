import { StoreRefusedError } from '../../errors.ts'
import { publicError } from '../../store/failure.ts'
import { KnownFlavour } from './flavour.ts'
import type { MysqlNames } from './names.ts'
import { failureOf } from './refusal.ts'
import type { Migration } from '../sql/migration.ts'
import { SCHEMA_VERSION, schemaStatements } from './schema.ts'
import type { MysqlSessions } from './session.ts'
import { COMMIT } from './statements.ts'

/**
 * Makes the tables where they are missing, one after another: these servers commit with each.
 *
 * @throws StoreUnavailableError, StoreRefusedError; also when a later version of this library made the tables, or the server
 *   is too old
 */
export async function migrate(
  sessions: MysqlSessions,
  names: MysqlNames,
  migration: Migration,
): Promise<void> {
  const found = await made(sessions, names, migration)
  if (found === SCHEMA_VERSION) return
  throw new StoreRefusedError(
    `The tables of ${names.of('lock')} and the others are of schema ${found}, this version knows schema ${SCHEMA_VERSION}. ` +
      'Use the version of Holdfast that made them, or another tablePrefix.',
    { retryable: false, outcome: 'not-done', reason: 'SCHEMA' },
  )
}

async function made(sessions: MysqlSessions, names: MysqlNames, migration: Migration): Promise<string> {
  try {
    const session = await sessions.take()
    let open = true
    // A session that does not answer is ended; what it was asked for last may be done all the same.
    const end = (broken: boolean): void => {
      if (open) sessions.giveBack(session, broken)
      open = false
    }
    migration.onGiven(() => end(true))
    try {
      migration.assertGoing()
      await new KnownFlavour().of(session)
      for (const statement of schemaStatements(names)) {
        migration.assertGoing()
        migration.changing = true
        await session.change(statement)
      }
      const [row] = await session.rows(`SELECT \`value\` FROM ${names.of('meta')} WHERE \`name\` = 'schema'`)
      // With autocommit off the row of the version is not there yet.
      await session.change(COMMIT)
      return row?.[0] ?? ''
    } finally {
      end(false)
    }
  } catch (error) {
    const failure = failureOf(error, 'commit', names)
    const kind = failure.outcome === 'unknown' ? 'unknown' : 'refused'
    throw publicError({ kind, failure }, 'Making the tables')
  }
}
