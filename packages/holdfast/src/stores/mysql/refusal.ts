import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { SqlMoment } from '../sql/port.ts'
import { LATE, tooLate } from './flavour.ts'
import type { MysqlNames } from './names.ts'
import { createStatement, TABLES } from './schema.ts'

interface Refusal {
  /** Whether asking again within the budget is of no use. */
  readonly final: boolean
  readonly remedy: string
}

const LOGIN = 'The client could not log in. Give it a user and a password that the server knows.'
const RIGHT = 'The user lacks a right. Needed: SELECT, INSERT, UPDATE, DELETE on our tables.'
const SLOW =
  'Another transaction kept the row, or the server was too slow for the budget. Raise `budget` if it happens often.'
const FULL = 'The server is short of disk or memory; look at its log.'
const READ_ONLY = 'The server is a replica, or read-only. Point the client at the primary.'
const READ_ONLY_TRANSACTION =
  'The transaction may not write. Begin it as READ WRITE, and look at tx_read_only (MySQL: transaction_read_only) of the session.'
const STOPPING =
  'The server is starting or stopping, or somebody ended the connection; it works when it is tried again.'

/** What the servers answer when they refuse, by number, and what to do about it. */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  1021: { final: false, remedy: FULL },
  1037: { final: false, remedy: FULL },
  1040: {
    final: false,
    remedy: 'The server has no connection left. Use a smaller pool, or raise max_connections.',
  },
  1044: { final: true, remedy: RIGHT },
  1045: { final: true, remedy: LOGIN },
  1046: {
    final: true,
    remedy: 'The connection has no database. Give the client one, or the store the option `database`.',
  },
  1049: { final: true, remedy: 'There is no such database. Create it, or give the client another.' },
  1053: { final: false, remedy: STOPPING },
  1054: { final: true, remedy: 'A table of that name is another. Give the store another tablePrefix.' },
  1114: { final: false, remedy: FULL },
  1142: { final: true, remedy: RIGHT },
  1143: { final: true, remedy: RIGHT },
  1153: {
    final: true,
    remedy: 'What is to be stored is larger than max_allowed_packet. Raise that, or store less.',
  },
  1203: {
    final: false,
    remedy: 'The user has no connection left. Use a smaller pool, or raise max_user_connections.',
  },
  1205: { final: false, remedy: SLOW },
  1213: { final: false, remedy: 'Transactions met; it works when it is tried again.' },
  1290: { final: false, remedy: READ_ONLY },
  1305: {
    final: false,
    remedy: 'The connection was replaced in the middle of a transaction; a proxy between has to keep it.',
  },
  1317: { final: false, remedy: STOPPING },
  1792: { final: true, remedy: READ_ONLY_TRANSACTION },
  1836: { final: false, remedy: READ_ONLY },
  1927: { final: false, remedy: STOPPING },
  1969: { final: false, remedy: SLOW },
  4031: { final: false, remedy: 'This process was held up in the middle of a transaction.' },
}

/** Another transaction has the row (1205 of MariaDB, 3572 of MySQL). Only the statement was undone. */
export const ANOTHER_HAS_IT: readonly unknown[] = [1205, 3572]
const NO_TABLE = 1146
/** After these nobody can say whether a commit that was asked for was made. */
const UNSURE_AT_COMMIT = new Set([1053, 1180, 1317, 1927, 1969])

/** How an error of mysql2 is to be taken. */
export function failureOf(error: unknown, when: SqlMoment, names: MysqlNames): StoreFailure {
  if (error instanceof StoreFailure) return error
  if (error instanceof InvalidArgumentError) {
    const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'client' } as const
    return new StoreFailure(error.message, { ...parts, cause: error })
  }
  const { message, errno, sqlState } = error as { message: string; errno?: number; sqlState?: unknown }
  if (typeof sqlState !== 'string' || errno === undefined) {
    return new StoreFailure(`the client said "${message}"`, {
      kind: 'unreachable',
      outcome: when === 'before' ? 'not-done' : 'unknown',
      final: false,
      reason: 'connection',
      cause: error,
    })
  }
  if (errno === LATE) return tooLate(error)
  const unsure = when === 'commit' && UNSURE_AT_COMMIT.has(errno)
  const refusal = errno === NO_TABLE ? missing(message, names) : REFUSALS[errno]
  return new StoreFailure(`the server said "${message}"`, {
    kind: unsure ? 'unreachable' : 'refused',
    outcome: unsure ? 'unknown' : 'not-done',
    final: refusal?.final ?? !unsure,
    reason: String(errno),
    remedy: refusal?.remedy ?? '',
    cause: error,
  })
}

/** What has to be made first. */
function missing(message: string, names: MysqlNames): Refusal {
  const table = TABLES.find((name) => message.includes(`${names.plain(name)}'`))
  const statements = (table === undefined ? TABLES : [table]).map((name) => createStatement(names, name))
  const remedy = `Run \`await store.migrate()\` once, or the statements of mysqlSchema(). This one is missing:\n${statements.join(';\n')}`
  return { final: true, remedy }
}
