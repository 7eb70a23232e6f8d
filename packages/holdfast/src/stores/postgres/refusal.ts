import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { SqlMoment } from '../sql/port.ts'
import type { PostgresNames } from './names.ts'
import { ConnectionGone } from './port.ts'
import { createStatement, TABLES } from './schema.ts'

interface Refusal {
  /** Whether asking again within the budget is of no use. */
  readonly final: boolean
  readonly remedy: string
}

/** A standby says so, and a transaction that may not write. */
const READ_ONLY = '25006'
const OWN_READ_ONLY =
  'The server is no standby: the transaction may not write. Begin it as READ WRITE, and look at default_transaction_read_only of the user and the database.'

/** What Postgres answers when it refuses, by SQLSTATE or the first two characters of it, and what to do about it. */
const REFUSALS: Record<string, Refusal> = {
  [READ_ONLY]: {
    final: false,
    remedy: 'The server is a standby. Point the client at the primary (target_session_attrs).',
  },
  '40': { final: false, remedy: 'Transactions met; it works when it is tried again.' },
  '55P03': { final: false, remedy: 'Another transaction kept the row. Raise `budget` if it happens often.' },
  '57014': {
    final: false,
    remedy: 'The server was too slow for the budget. Raise `budget`, or look at its load.',
  },
  '25P03': { final: false, remedy: 'This process was held up in the middle of a transaction.' },
  '25P04': { final: false, remedy: 'This process was held up in the middle of a transaction.' },
  '57P': { final: false, remedy: 'The server is starting or stopping; it answers when that is done.' },
  '53300': {
    final: false,
    remedy: 'The server has no connection left. Use a smaller pool, or raise max_connections.',
  },
  '53': { final: false, remedy: 'The server is short of disk, memory or connections; look at its log.' },
  '28': {
    final: true,
    remedy: 'The client could not log in. Give it a user and a password that the server knows.',
  },
  '3D000': { final: true, remedy: 'There is no such database. Create it, or give the client another.' },
  '22021': { final: true, remedy: 'The database does not keep UTF-8. Use one made with ENCODING UTF8.' },
  '22P05': { final: true, remedy: 'The database does not keep UTF-8. Use one made with ENCODING UTF8.' },
  '54': { final: true, remedy: 'A key is too long for an index. Use a shorter name or prefix.' },
}

/** The transaction that was to be written into is not there: the connection is another one by now. */
const NO_TRANSACTION = ['25P01', '3B001']
/** What the database says when it has ended a silent transaction: nothing of it stays. */
const ENDED_WHILE_SILENT = ['25P03', '25P04']

/** Whether it is to be asked if the server is a standby. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === READ_ONLY
}

/** What is said of a transaction that may not write, on a server that is no standby. */
export function readOnlyTransaction(error: unknown, final: boolean): StoreFailure {
  const { message } = error as Error
  const parts = { kind: 'refused', outcome: 'not-done', final, reason: READ_ONLY } as const
  return failure(`Postgres said "${message}"`, parts, error, OWN_READ_ONLY)
}

/** How an error of a client of Postgres is to be taken. */
export function failureOf(error: unknown, when: SqlMoment, names: PostgresNames): StoreFailure {
  if (error instanceof StoreFailure) return error
  if (error instanceof InvalidArgumentError)
    return failure(
      error.message,
      { kind: 'refused', outcome: 'not-done', final: true, reason: 'client' },
      error,
    )
  const { message } = error as Error
  const state = sqlStateOf(error)
  if (state !== null) return refusalOf(state, error as ServerError, when, names)
  const parts = { kind: 'unreachable', final: false, reason: 'connection' } as const
  // The connection was lost before the commit was sent, or it is not known whether it got through.
  const done = when === 'before' || error instanceof ConnectionGone
  const gone =
    error instanceof ConnectionGone
      ? 'the connection was lost before the commit'
      : `the client said "${message}"`
  return failure(gone, { ...parts, outcome: done ? 'not-done' : 'unknown' }, error)
}

interface ServerError {
  readonly message: string
  readonly severity: string
}

function refusalOf(state: string, error: ServerError, when: SqlMoment, names: PostgresNames): StoreFailure {
  if (NO_TRANSACTION.includes(state)) {
    const parts = { kind: 'unreachable', outcome: 'not-done', final: false, reason: 'connection' } as const
    return failure(
      'the connection was replaced in the middle of a transaction',
      parts,
      error,
      NO_TRANSACTION_REMEDY,
    )
  }
  const known = [5, 3, 2]
    .map((length) => REFUSALS[state.slice(0, length)])
    .find((entry) => entry !== undefined)
  const refusal = missing(state, error.message, names) ?? known
  const unsure = when === 'commit' && mayBeDone(state, error.severity)
  return failure(
    `Postgres said "${error.message}"`,
    {
      kind: unsure ? 'unreachable' : 'refused',
      outcome: unsure ? 'unknown' : 'not-done',
      final: refusal?.final ?? !unsure,
      reason: state,
    },
    error,
    refusal?.remedy,
  )
}

const NO_TRANSACTION_REMEDY =
  'A pooler between has to keep a connection for a whole transaction (not pool_mode statement).'

/** A refusal undoes the transaction; one that ends the connection may come after the commit. */
function mayBeDone(state: string, severity: string): boolean {
  if (ENDED_WHILE_SILENT.includes(state)) return false
  if (state === '40003' || state.startsWith('08') || state.startsWith('XX') || state.startsWith('58'))
    return true
  return severity === 'FATAL' || severity === 'PANIC' || state.startsWith('57P')
}

/** What has to be made or allowed first. */
function missing(state: string, message: string, names: PostgresNames): Refusal | undefined {
  if (state === '42P01' || state === '3F000') {
    const table = TABLES.find((name) => message.includes(`${names.plain(name)}"`))
    const statements = (table === undefined ? TABLES : [table]).map((name) => createStatement(names, name))
    const remedy = `Run \`await store.migrate()\` once, or the statements of postgresSchema(). This one is missing:\n${statements.join('\n')}`
    return { final: true, remedy }
  }
  if (state !== '42501') return undefined
  const tables = TABLES.map((table) => names.of(table)).join(', ')
  const schema = names.place === null ? '' : ` GRANT USAGE ON SCHEMA "${names.place}" TO …;`
  const remedy = `The user lacks a right. Needed:${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables} TO …;`
  return { final: true, remedy }
}

/** The server's own code; `null` when the error is not the server's. Errors of sockets have a code, too, but no severity. */
function sqlStateOf(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string' ? code : null
}

function failure(
  message: string,
  parts: {
    kind: 'refused' | 'unreachable'
    outcome: 'not-done' | 'unknown'
    final: boolean
    reason: string
  },
  cause: unknown,
  remedy = '',
): StoreFailure {
  return new StoreFailure(message, { ...parts, remedy, cause })
}
