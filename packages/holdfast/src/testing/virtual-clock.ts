import type { Clock, Timer } from '../clock.ts'
import { checkOptions } from '../options.ts'

/** A bound on the timers that one `advance` may run: beyond it, something sets timers without end. */
const MAX_TIMERS_PER_ADVANCE = 1_000_000
/** Turns without new work after which all is taken to have settled. */
const QUIET_TURNS = 3
/** The same for turns of the event loop while time stands still. */
const MAX_TURNS_TO_SETTLE = 100_000
/** As in Node, no timer is shorter than a millisecond; a chain of empty ones thus lets time pass. */
const SHORTEST_TIMER = 1

interface VirtualTimer extends Timer {
  readonly due: number
  readonly order: number
  readonly keepAlive: boolean
  readonly run: () => void
}

/**
 * A clock for tests: time stands still until it is told to pass. Monotonic and wall time are apart, so that a stepped wall
 * clock, a sleeping machine and a blocked event loop can each be played. Promises and `endOfTurn` work as they really do.
 */
export class VirtualClock implements Clock {
  readonly #timers = new Set<VirtualTimer>()
  #monotonic: number
  #wall: number
  #order = 0
  #pendingTurns = 0
  #turnsAsked = 0
  #advancing = false

  /** @param start where both clocks begin, in milliseconds; the wall clock in those since 1970 */
  constructor(start: { monotonic?: number; wall?: number } = {}) {
    checkOptions(start, ['monotonic', 'wall'], 'VirtualClock')
    this.#monotonic = start.monotonic ?? 1_000
    this.#wall = start.wall ?? Date.UTC(2026, 0, 1)
    checkTime(true, this.#monotonic)
    checkTime(true, this.#wall)
  }

  monotonic(): number {
    return this.#monotonic
  }

  wall(): number {
    return this.#wall
  }

  setTimer(run: () => void, ms: number, options?: { keepAlive?: boolean }): Timer {
    const due = this.#monotonic + Math.max(SHORTEST_TIMER, ms)
    const keepAlive = options?.keepAlive === true
    const timer: VirtualTimer = {
      due,
      order: this.#order++,
      keepAlive,
      run,
      cancel: () => this.#timers.delete(timer),
    }
    this.#timers.add(timer)
    return timer
  }

  endOfTurn(run: () => void): void {
    this.#pendingTurns += 1
    this.#turnsAsked += 1
    setImmediate(() => {
      this.#pendingTurns -= 1
      run()
    })
  }

  /** Timers that are set and did not run yet. */
  get pendingTimers(): number {
    return this.#timers.size
  }

  /** Those of them that would keep the process alive. */
  get keepAliveTimers(): number {
    let count = 0
    for (const timer of this.#timers) if (timer.keepAlive) count += 1
    return count
  }

  /**
   * Lets `ms` milliseconds pass on both clocks. Timers run when they are due, in order; after each the promises it
   * settled, and what follows from them, get their turns. Timers set meanwhile run too when they fall due.
   */
  async advance(ms: number): Promise<void> {
    checkTime(ms >= 0, ms)
    if (this.#advancing) throw new Error('the clock is being advanced already: await the first call')
    this.#advancing = true
    try {
      const end = this.#monotonic + ms
      await this.settle()
      for (let ran = 0; ; ran += 1) {
        const next = this.#earliest()
        if (next === null || next.due > end) break
        if (ran >= MAX_TIMERS_PER_ADVANCE) throw new Error(`more than ${ran} timers ran within ${ms} ms`)
        this.#passTo(next.due)
        this.#timers.delete(next)
        next.run()
        await this.settle()
      }
      this.#passTo(end)
    } finally {
      this.#advancing = false
    }
  }

  /** Lets promises and `endOfTurn` work go on until nothing moves, without any time passing and without timers. */
  async settle(): Promise<void> {
    for (let turns = 0, quiet = 0; quiet < QUIET_TURNS; turns += 1, quiet += 1) {
      if (turns >= MAX_TURNS_TO_SETTLE)
        throw new Error(`work does not settle: ${turns} turns without time passing`)
      const asked = this.#turnsAsked
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#pendingTurns > 0 || this.#turnsAsked !== asked) quiet = -1
    }
  }

  /** The event loop is blocked: time passes on both clocks and no timer runs. What fell due runs at the next `advance`. */
  blockFor(ms: number): void {
    checkTime(ms >= 0, ms)
    this.#monotonic += ms
    this.#wall += ms
  }

  /** The machine sleeps: the wall clock goes on, the monotonic one and the timers stand still. */
  asleepFor(ms: number): void {
    checkTime(ms >= 0, ms)
    this.#wall += ms
  }

  /** Somebody sets the wall clock: forward, or back with a negative number. */
  stepWall(ms: number): void {
    checkTime(true, ms)
    this.#wall += ms
  }

  #passTo(monotonic: number): void {
    if (monotonic <= this.#monotonic) return
    this.#wall += monotonic - this.#monotonic
    this.#monotonic = monotonic
  }

  #earliest(): VirtualTimer | null {
    let first: VirtualTimer | null = null
    for (const timer of this.#timers) {
      if (first === null || timer.due < first.due || (timer.due === first.due && timer.order < first.order))
        first = timer
    }
    return first
  }
}

/** A clock at no time, or one that goes backwards by itself, would stop every timer without a word. */
function checkTime(isPossible: boolean, ms: number): void {
  if (!isPossible || !Number.isFinite(ms)) throw new RangeError(`time cannot pass by ${ms} ms`)
}
