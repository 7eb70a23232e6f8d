import type { Clock } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import { StoreFailure } from '../../store/failure.ts'

/** A connection with one life: what is in flight when it ends is rejected, and nothing is ever sent again. */
export interface OwnConnection {
  /** Whether it can be used. */
  readonly alive: boolean
  /** Hands one command over. Commands are answered in order. Rejects with the client's own error. */
  send(command: readonly string[]): Promise<unknown>
  /** Ends it at once. */
  end(): void
}

/** One that waits for its turn. */
interface Waiting {
  readonly proceed: () => void
}

/**
 * Connections of our own, each lent to one piece of work at a time and kept for the next. For commands that block their connection, and
 * for answers that speak of the connection they came over.
 */
export class OwnConnections {
  readonly #clock: Clock
  readonly #open: () => Promise<OwnConnection>
  readonly #idle: OwnConnection[] = []
  readonly #lent = new Set<OwnConnection>()
  readonly #waiting: Waiting[] = []
  #count = 0
  #closed = false

  /** @param open begins a connection; rejects when that is not possible now */
  constructor(clock: Clock, open: () => Promise<OwnConnection>) {
    this.#clock = clock
    this.#open = open
  }

  /**
   * Lends a connection to `work`, and opens one when none is free and there are fewer than the bound. The connection is ended when the
   * work is not done in time: a server that went away without a word would keep it for ever.
   *
   * @param until monotonic milliseconds. Rejects with a `StoreFailure` when there is no connection by then
   */
  async use<T>(until: number, work: (connection: OwnConnection) => Promise<T>): Promise<T> {
    const connection = await this.#take(until)
    const timer = this.#clock.setTimer(() => connection.end(), this.#left(until) + bounds.ownConnectionGrace)
    try {
      return await work(connection)
    } finally {
      timer.cancel()
      this.#giveBack(connection)
    }
  }

  /** Ends all of them, also those that are lent. */
  close(): void {
    this.#closed = true
    for (const connection of [...this.#idle, ...this.#lent]) connection.end()
  }

  async #take(until: number): Promise<OwnConnection> {
    for (;;) {
      if (this.#closed) throw noConnection('the store was closed')
      for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
        if (idle.alive) return this.#lend(idle)
        this.#count -= 1
      }
      if (this.#left(until) <= 0) throw noConnection('no connection of its own was free in time')
      if (this.#count < bounds.ownConnections) return this.#lend(await this.#begin(until))
      await this.#turn(until)
    }
  }

  #lend(connection: OwnConnection): OwnConnection {
    this.#lent.add(connection)
    return connection
  }

  async #begin(until: number): Promise<OwnConnection> {
    this.#count += 1
    let late = false
    const opening = this.#open()
    const timeout = new Promise<never>((_, reject) => {
      const timer = this.#clock.setTimer(() => {
        late = true
        reject(noConnection('it could not be opened in time'))
      }, this.#left(until))
      const cancel = (): void => timer.cancel()
      opening.then(cancel, cancel)
    })
    // One that comes too late is of use to the next.
    opening.then(
      (connection) => late && this.#giveBack(connection),
      () => late && this.#gone(),
    )
    try {
      return await Promise.race([opening, timeout])
    } catch (error) {
      if (!late) this.#gone()
      throw error instanceof StoreFailure ? error : noConnection(messageOf(error), error)
    }
  }

  #giveBack(connection: OwnConnection): void {
    this.#lent.delete(connection)
    if (this.#closed) connection.end()
    if (!connection.alive) return this.#gone()
    this.#idle.push(connection)
    this.#next()
  }

  /** One less. */
  #gone(): void {
    this.#count -= 1
    this.#next()
  }

  #next(): void {
    this.#waiting.shift()?.proceed()
  }

  #turn(until: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        proceed: () => {
          timer.cancel()
          resolve()
        },
      }
      const timer = this.#clock.setTimer(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        resolve()
      }, this.#left(until))
      this.#waiting.push(waiting)
    })
  }

  #left(until: number): number {
    return Math.max(0, until - this.#clock.monotonic())
  }
}

function noConnection(why: string, cause?: unknown): StoreFailure {
  const parts = {
    kind: 'unreachable',
    outcome: 'not-done',
    final: false,
    reason: 'connection',
    cause,
  } as const
  return new StoreFailure(`there is no connection for acknowledged calls: ${why}`, parts)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
