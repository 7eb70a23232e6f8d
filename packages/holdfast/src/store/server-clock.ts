import type { Clock } from '../clock.ts'

/**
 * What a process knows of its server's time: the time in the last reply, and how long ago on our monotonic clock it came.
 * It runs behind the server by at most one reply's way, which makes every `notAfter` too early rather than too late.
 */
export class ServerClock {
  readonly #clock: Clock
  #serverTime = 0
  #arrived: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a reply was seen since the connection began. */
  get known(): boolean {
    return this.#arrived !== null
  }

  /** Notes the time in a reply that has just arrived. */
  saw(serverTime: number): void {
    this.#serverTime = serverTime
    this.#arrived = this.#clock.monotonic()
  }

  /** Another server may answer from now on: what was known is worth nothing. */
  forget(): void {
    this.#arrived = null
  }

  /** The server's time, in whole milliseconds, at monotonic time `instant`. Only when `known`. */
  at(instant: number): number {
    return Math.floor(this.#serverTime + instant - (this.#arrived ?? instant))
  }
}
