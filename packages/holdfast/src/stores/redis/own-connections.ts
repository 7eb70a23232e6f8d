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

/**
 * Begins a connection; rejects when that is not possible now.
 *
 * @param endBy is told what ends it while it is not open yet; whether the promise settles then does not matter
 */
export type OpenOwn = (endBy: (end: () => void) => void) => Promise<OwnConnection>

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
  readonly #open: OpenOwn
  readonly #idle: OwnConnection[] = []
  readonly #lent = new Set<OwnConnection>()
  /** Each ends a connection that is being opened; `late` when who asked for it has gone. */
  readonly #opening = new Set<{ readonly giveUp: () => void; late: boolean }>()
  readonly #waiting: Waiting[] = []
  #count = 0
  #closed = false

  constructor(clock: Clock, open: OpenOwn) {
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

  /** Ends all of them, also those that are lent, and those that are being opened. */
  close(): void {
    this.#closed = true
    for (const connection of [...this.#idle, ...this.#lent]) connection.end()
    for (const { giveUp } of this.#opening) giveUp()
  }

  /** Another server may answer now: who is still on the way to the one before takes the place of who would get through. */
  anew(): void {
    for (const { late, giveUp } of this.#opening) if (late) giveUp()
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
    const opening = this.#openInTime(this.#left(until))
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

  /** Towards a machine that went away without a word it would be opened for ever: it is given up, and never used. */
  #openInTime(wanted: number): Promise<OwnConnection> {
    return new Promise((resolve, reject) => {
      let over = false
      let end = (): void => undefined
      const giveUp = (): void => {
        settled()
        over = true
        end()
        reject(new Error('it was given up'))
      }
      const opening = { giveUp, late: false }
      const timers = [
        this.#clock.setTimer(() => {
          opening.late = true
        }, wanted),
        this.#clock.setTimer(giveUp, Math.max(wanted, bounds.ownOpening)),
      ]
      const settled = (): void => {
        for (const timer of timers) timer.cancel()
        this.#opening.delete(opening)
      }
      this.#opening.add(opening)
      const endBy = (own: () => void): void => {
        end = own
        if (over) own()
      }
      this.#open(endBy).then(
        (connection) => {
          settled()
          if (over) connection.end()
          else resolve(connection)
        },
        (error: unknown) => {
          settled()
          reject(error)
        },
      )
    })
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
