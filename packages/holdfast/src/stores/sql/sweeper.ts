import type { Clock } from '../../clock.ts'
import { inGivenTime } from './given-time.ts'
import type { SqlKind, SqlPort } from './port.ts'

/** After so many rows were written, some others are looked at. */
const WRITTEN_BETWEEN = 64
/** Milliseconds for one look at them. Nobody waits for it, but for its connection somebody may. */
const PATIENCE = 30_000

/**
 * Clears away rows that are over. Nothing is swept by timers: who writes pays for looking at a few more rows than were written,
 * in a statement of its own in the background, so that the tables stay in proportion to what is in use.
 */
export class SqlSweeper {
  readonly #port: SqlPort
  readonly #clock: Clock
  readonly #kind: SqlKind
  #written = 0
  #after = ''
  #sweeping = false

  constructor(port: SqlPort, clock: Clock, kind: SqlKind) {
    this.#port = port
    this.#clock = clock
    this.#kind = kind
  }

  wrote(rows: number): void {
    this.#written += rows
    if (this.#written < WRITTEN_BETWEEN || this.#sweeping) return
    this.#written = 0
    this.#sweeping = true
    inGivenTime(this.#clock, PATIENCE, (giveUp) => this.#port.sweep(this.#kind, this.#after, giveUp)).then(
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
