import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'

interface Refusal {
  /** Whether asking again within the budget is of no use. */
  readonly final: boolean
  readonly remedy: string
}

/** What SQLite answers when it refuses, and what to do about it. Extended codes (`SQLITE_IOERR_WRITE`) begin with these. */
const REFUSALS: Record<string, Refusal> = {
  SQLITE_BUSY: {
    final: false,
    remedy:
      'Another connection kept the write lock of the file. Keep its write transactions short, or raise `budget`.',
  },
  SQLITE_LOCKED: {
    final: false,
    remedy: 'A statement of this connection is still being read. Give the store a connection of its own.',
  },
  SQLITE_PROTOCOL: {
    final: false,
    remedy: 'Too many connections came at once; it works when they are through.',
  },
  SQLITE_FULL: { final: false, remedy: 'The disk is full, or max_page_count is reached. Free some space.' },
  SQLITE_READONLY: {
    final: true,
    remedy:
      'The file or its folder cannot be written. Mend their rights (the folder needs them too, for the -wal file).',
  },
  SQLITE_IOERR: { final: false, remedy: "The disk or its file system failed; look at the system's log." },
  SQLITE_CORRUPT: {
    final: true,
    remedy:
      'The file is damaged: PRAGMA integrity_check tells where. Restore it, or remove it with its -wal and -shm.',
  },
  SQLITE_NOTADB: { final: true, remedy: 'The file is not a SQLite database. Choose another one.' },
  SQLITE_CANTOPEN: {
    final: false,
    remedy: 'The file or its folder is gone, or no more files can be opened.',
  },
  SQLITE_PERM: { final: true, remedy: 'The file cannot be used with the rights of this process. Mend them.' },
  SQLITE_AUTH: {
    final: true,
    remedy: 'An authorizer of this connection forbids it. Give the store a connection of its own.',
  },
  SQLITE_NOMEM: { final: false, remedy: 'There is no memory left.' },
}

/** The driver's code of an error; an empty string when it has none. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}

/** Whether another connection, or a reader of this one, stands in the way for now. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(codeOf(error))
}

/**
 * How an error is to be taken.
 *
 * @param outcome `not-done` when the transaction was rolled back or never began
 */
export function failureOf(error: unknown, outcome: 'not-done' | 'unknown'): StoreFailure {
  if (error instanceof StoreFailure) return error
  const code = codeOf(error)
  const refusal = Object.entries(REFUSALS).find(([prefix]) => code.startsWith(prefix))?.[1]
  const message = error instanceof Error ? error.message : String(error)
  // Tables that were dropped under us are made anew when the operation asks again.
  const mended = code === 'SQLITE_ERROR' && message.startsWith('no such table')
  return new StoreFailure(error instanceof InvalidArgumentError ? message : `SQLite said "${message}"`, {
    kind: outcome === 'unknown' ? 'unreachable' : 'refused',
    outcome,
    final: refusal?.final ?? !mended,
    reason: code === '' ? 'database' : code,
    remedy: refusal?.remedy ?? '',
    cause: error,
  })
}

/** The file of a connection was deleted or replaced: others lock in another one by now. */
export function fileGone(): StoreFailure {
  return new StoreFailure('the file of this connection was deleted or replaced since it was opened', {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: 'SQLITE_READONLY_DBMOVED',
    remedy: 'Open the database anew, and keep its file where nothing tidies it up.',
  })
}
