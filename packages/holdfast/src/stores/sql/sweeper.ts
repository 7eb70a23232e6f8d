import type { SqlKind, SqlPort } from './port.ts'

/** After so many rows were written, some others are looked at. */
const WRITTEN_BETWEEN = 64

/**
 * Clears away rows that are over. Nothing is swept by timers: who writes pays for looking at a few more rows than were written,
 * in a statement of its own in the background, so that the tables stay in proportion to what is in use.
 */
export class SqlSweeper {
  readonly #port: SqlPort
  readonly #kind: SqlKind
  #written = 0
  #after = ''
  #sweeping = false

  constructor(port: SqlPort, kind: SqlKind) {
    this.#port = port
    this.#kind = kind
  }

  wrote(rows: number): void {
    this.#written += rows
    if (this.#written < WRITTEN_BETWEEN || this.#sweeping) return
    this.#written = 0
    this.#sweeping = true
    this.#port.sweep(this.#kind, this.#after).then(
      (after) => {
        this.#after = after
        this.#sweeping = false
      },
      () => {
        // Another time.
        this.#sweeping = false
      },
    )
  }
}
