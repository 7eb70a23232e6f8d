import { InjectionCounter } from './injection.ts'
import type { Injection } from './injection.ts'
import { PASS } from './pipe.ts'
import type { Manner, Pipe } from './pipe.ts'

/** How one direction behaves: of one connection, or of all of them, those to come included. The latest call counts. */
export interface Flow {
  /**
   * Back to normal, without delay. What was held goes first, in order. A connection that lost bytes is reset,
   * because its two ends no longer agree on what was said.
   */
  pass(): void
  /** Keeps all bytes, ends of connections included, until `pass`. */
  hold(): void
  /**
   * Discards all bytes, ends of connections included. A client that got one reply less would hand each later reply to
   * the wrong call: a dropped reply must be followed by a reset of its connection. `pass` does that; `resetAll`
   * does it at any time, and `dropThenReset` at once.
   */
  drop(): void
  /**
   * Every chunk arrives so many milliseconds later (plus a random part of `jitter`), in order, with no limit on how
   * much travels at once.
   */
  delay(ms: number, options?: { readonly jitter?: number }): void
}

/** What the proxy knows of a connection here. */
export interface Resettable {
  reset(): void
}

/** One direction of all connections of a proxy. */
export class Direction implements Flow {
  readonly #pipes = new Map<Pipe, Resettable>()
  #manner: Manner = PASS
  #intercept: ((pipe: Pipe, bytes: Buffer) => Buffer | undefined) | undefined

  /** For the connections of the proxy: how a new pipe shall behave. */
  get manner(): Manner {
    return this.#manner
  }

  pass(): void {
    for (const [pipe, connection] of this.#pipes) if (pipe.lostBytes) connection.reset()
    this.#setManner(PASS)
  }

  hold(): void {
    this.#setManner({ kind: 'hold' })
  }

  drop(): void {
    this.#setManner({ kind: 'drop' })
  }

  delay(ms: number, { jitter = 0 }: { readonly jitter?: number } = {}): void {
    this.#setManner({ kind: 'pass', delay: ms, jitter })
  }

  /**
   * Lets `bytes` more bytes of this direction through, counted over all connections; then the connection that
   * carries the last of them is reset, in the midst of a command or reply if it falls so. Once.
   */
  cutAfter(bytes: number): Injection {
    let left = bytes
    return this.#onArrival(1, (cut, pipe, chunk) => {
      if (chunk.length < left) {
        left -= chunk.length
        return chunk
      }
      if (!cut.start()) return chunk
      pipe.sendThenReset(chunk.subarray(0, left))
      cut.happened()
      return undefined
    })
  }

  /** Discards the next `times` chunks that arrive, on whatever connections, and resets each one's connection. */
  dropThenReset({ times = 1 }: { readonly times?: number } = {}): Injection {
    return this.#onArrival(times, (drop, pipe, chunk) => {
      if (!drop.start()) return chunk
      pipe.noteLoss()
      this.#pipes.get(pipe)?.reset()
      drop.happened()
      return undefined
    })
  }

  /** Forgets what was ordered by `cutAfter` and `dropThenReset`. */
  cancelInjections(): void {
    this.#intercept = undefined
  }

  /** For the connections of the proxy. */
  add(pipe: Pipe, connection: Resettable): void {
    this.#pipes.set(pipe, connection)
  }

  /** For the connections of the proxy. */
  delete(pipe: Pipe): void {
    this.#pipes.delete(pipe)
  }

  /** For the connections of the proxy. */
  intercept(pipe: Pipe, bytes: Buffer): Buffer | undefined {
    return this.#intercept === undefined ? bytes : this.#intercept(pipe, bytes)
  }

  #setManner(manner: Manner): void {
    this.#manner = manner
    for (const pipe of this.#pipes.keys()) pipe.manner = manner
  }

  #onArrival(
    times: number,
    act: (injection: InjectionCounter, pipe: Pipe, bytes: Buffer) => Buffer | undefined,
  ): Injection {
    const injection: InjectionCounter = new InjectionCounter(times, () => {
      if (this.#intercept === intercept) this.#intercept = undefined
    })
    const intercept = (pipe: Pipe, bytes: Buffer) => act(injection, pipe, bytes)
    this.#intercept = intercept
    return injection
  }
}
