import { statSync } from 'node:fs'
import type { SqliteDatabase } from './database.ts'

/**
 * The file that a connection has open. On POSIX a file that is deleted, or replaced by a restored copy, lives on for those who
 * have it open: they would go on excluding each other in there, and nobody else. SQLite itself looks for this only where it
 * keeps no WAL.
 */
export class OpenFile {
  /** `null` for a database without a file, and where its file cannot be looked at. */
  readonly #path: string | null
  readonly #identity: string | null

  /** To be made soon after the connection: what happened before is not seen. */
  constructor(database: SqliteDatabase) {
    this.#path = pathOf(database)
    this.#identity = this.#path === null ? null : lookAt(this.#path)
  }

  /** Tells the file from all others of this machine; `null` where it cannot be told. */
  get identity(): string | null {
    return this.#identity
  }

  /** Whether another connection has the same file open. Of databases without a file each is one of its own. */
  isOf(database: SqliteDatabase): boolean {
    const path = pathOf(database)
    return path !== null && this.#identity !== null && lookAt(path) === this.#identity
  }

  /** Whether another file, or none, is where this one was opened. */
  isGone(): boolean {
    if (this.#path === null || this.#identity === null) return false
    try {
      return identityOf(this.#path) !== this.#identity
    } catch {
      // It cannot be looked at (any more): that tells nothing.
      return false
    }
  }
}

function pathOf(database: SqliteDatabase): string | null {
  try {
    const rows = database.prepare('PRAGMA database_list').all() as { name?: unknown; file?: unknown }[]
    const file = rows.find(({ name }) => name === 'main')?.file
    return typeof file === 'string' && file !== '' ? file : null
  } catch {
    return null
  }
}

/** Tells a file from all others of this machine; `null` when there is none. Numbers of files repeat on other devices. */
function identityOf(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`
}

/** As {@link identityOf}; `null` also where the file cannot be looked at. */
function lookAt(path: string): string | null {
  try {
    return identityOf(path)
  } catch {
    return null
  }
}
