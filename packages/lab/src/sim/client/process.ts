import type { Clock } from 'holdfast/testing'
import { Actor, type Catching } from '../actor.ts'
import { Dice } from '../dice.ts'
import type { Happening, Scheduler } from '../scheduler.ts'

/** As in Node, no timer is shorter than a millisecond; a chain of empty ones thus lets time pass. */
const SHORTEST_TIMER = 1
/** Where wall clocks begin, in milliseconds since 1970. */
export const WALL_START = Date.UTC(2026, 0, 1)

/** What a client process is made with. */
export interface ProcessTraits {
  /** How fast its clocks run: 1 for true time. */
  readonly rate: number
  /** By how many ms its wall clock is off. */
  readonly wallOff: number
  /** Timers come late by up to this many ms. */
  readonly lateness: number
}

/** A client process: a thread, clocks, timers. It can stand still, sleep with its machine, and be killed. */
export class ClientProcess extends Actor {
  readonly clock: ProcessClock
  readonly dice: Dice

  constructor(name: string, scheduler: Scheduler, traits: ProcessTraits, seed: number) {
    super(name, scheduler)
    this.dice = new Dice(seed)
    this.clock = new ProcessClock(this, traits)
  }

  /** Its machine sleeps: nothing happens, and its monotonic clock stands still. */
  sleepFor(ms: number, catching: Catching): void {
    this.busyFor(ms, catching)
    this.clock.slept(ms)
  }
}

/** The clocks and timers of one process. */
export class ProcessClock implements Clock {
  readonly rate: number
  readonly #process: ClientProcess
  readonly #lateness: number
  #wallOff: number
  /** How long the monotonic clock stood still, in world time. */
  #asleep = 0
  readonly #timers = new Set<Happening>()

  constructor(process: ClientProcess, { rate, wallOff, lateness }: ProcessTraits) {
    this.#process = process
    this.rate = rate
    this.#wallOff = wallOff
    this.#lateness = lateness
  }

  monotonic(): number {
    return 1_000 + (this.#process.time - this.#asleep) * this.rate
  }

  wall(): number {
    return WALL_START + this.#wallOff + this.#process.time * this.rate
  }

  /** Somebody sets the wall clock: forward, or back with a negative number. */
  stepWall(ms: number): void {
    this.#wallOff += ms
  }

  /** The machine slept for so long, or will have when the process goes on. */
  slept(ms: number): void {
    this.#asleep += ms
  }

  /** Timers that are set and did not run yet. */
  get pendingTimers(): number {
    return this.#timers.size
  }

  setTimer(run: () => void, ms: number): ReturnType<Clock['setTimer']> {
    const { scheduler, dice } = this.#process
    const wait = Math.max(SHORTEST_TIMER, ms)
    const due = this.monotonic() + wait
    const late = this.#lateness === 0 ? 0 : dice.between(0, this.#lateness)
    const ring = (): void => {
      // The machine slept meanwhile, and its timers with it.
      const left = due - this.monotonic()
      if (left > 0.001) return scheduler.putOff(timer, this.#process.time + left / this.rate)
      this.#timers.delete(timer)
      run()
    }
    const timer = scheduler.at(this.#process.time + wait / this.rate + late, this.#process, ring)
    this.#process.isTimer(timer)
    this.#timers.add(timer)
    return {
      cancel: () => {
        timer.cancelled = true
        this.#timers.delete(timer)
      },
    }
  }

  /** The turn ends when all that follows from the present happening has settled: then, in the same moment, this comes. */
  endOfTurn(run: () => void): void {
    this.#process.scheduler.at(this.#process.time, this.#process, run)
  }
}
