import { randomBytes } from 'node:crypto'

/** A timer that was set with {@link Clock.setTimer}. Cancelling it twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void
  /**
   * Whether the process stays alive for it, changed after it was set. A clock need not offer this: what could be kept for
   * later is then cancelled, and set anew.
   */
  setKeepAlive?(needed: boolean): void
}

/**
 * Where the library reads time and sets timers. Nothing else in it touches the machine's clocks, so that tests and
 * simulators can hand in a clock of their own.
 */
export interface Clock {
  /** Milliseconds on a clock that is never stepped. Only differences mean anything. */
  monotonic(): number
  /** Milliseconds since 1970 by this machine's wall clock, which may be stepped. */
  wall(): number
  /** Calls `run` once, `ms` from now or later. The process stays alive for it only with `keepAlive`. */
  setTimer(run: () => void, ms: number, options?: { keepAlive?: boolean }): Timer
  /** Calls `run` when the present turn of the event loop has done its work. */
  endOfTurn(run: () => void): void
}

/** Where the library gets randomness. */
export interface Randomness {
  /** A number from 0 (included) to 1 (excluded). */
  fraction(): number
  /** That many random characters of `A-Z a-z 0-9 - _`, six bits each. */
  id(length: number): string
}

/** An instant on both clocks of this machine. */
export interface Instant {
  readonly monotonic: number
  readonly wall: number
}

/** Reads both clocks. */
export function instantOf(clock: Clock): Instant {
  return { monotonic: clock.monotonic(), wall: clock.wall() }
}

/**
 * Milliseconds until `deadline`, by whichever clock says less; zero or less when it is over. A sleeping machine may stop
 * the monotonic clock, so the wall clock has a say; a wall clock that was stepped forward makes it end early, which is safe.
 */
export function millisecondsUntil(deadline: Instant, clock: Clock): number {
  return Math.min(deadline.monotonic - clock.monotonic(), deadline.wall - clock.wall())
}

/** The same for who has just read both clocks. */
export function millisecondsFrom(now: Instant, deadline: Instant): number {
  return Math.min(deadline.monotonic - now.monotonic, deadline.wall - now.wall)
}

/** The instant `ms` after `instant`. */
export function after(instant: Instant, ms: number): Instant {
  return { monotonic: instant.monotonic + ms, wall: instant.wall + ms }
}

/**
 * Calls `run` when the monotonic clock says `at` or later; the process stays alive for it. A timer alone may come a little early, and
 * then what is due at that time has not been called yet.
 */
export function notBefore(clock: Clock, at: number, run: () => void): Timer {
  const look = (): Timer => {
    const left = Math.max(0, Math.ceil(at - clock.monotonic()))
    return clock.setTimer(() => (clock.monotonic() < at ? (timer = look()) : run()), left, {
      keepAlive: true,
    })
  }
  let timer = look()
  return { cancel: () => timer.cancel() }
}

class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout

  constructor(run: () => void, ms: number, keepAlive: boolean) {
    this.#timeout = setTimeout(run, ms)
    if (!keepAlive) this.#timeout.unref()
  }

  cancel(): void {
    clearTimeout(this.#timeout)
  }

  setKeepAlive(needed: boolean): void {
    if (needed) this.#timeout.ref()
    else this.#timeout.unref()
  }
}

/** The machine's own clocks and timers. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  setTimer: (run, ms, options) => new SystemTimer(run, ms, options?.keepAlive === true),
  endOfTurn: (run) => {
    setImmediate(run)
  },
}

/** The machine's own randomness. */
export const systemRandomness: Randomness = {
  fraction: () => Math.random(),
  id: (length) =>
    randomBytes(Math.ceil((length * 3) / 4))
      .toString('base64url')
      .slice(0, length),
}
