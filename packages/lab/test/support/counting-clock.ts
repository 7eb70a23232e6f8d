import { systemClock, type Clock } from 'holdfast/testing'

type Timer = ReturnType<Clock['setTimer']>

/** The machine's clock, which knows the timers that wait. */
export class CountingClock implements Clock {
  readonly #pending = new Set<Timer>()

  /** Timers that were set and neither ran nor were cancelled. */
  get pendingTimers(): number {
    return this.#pending.size
  }

  monotonic(): number {
    return systemClock.monotonic()
  }

  wall(): number {
    return systemClock.wall()
  }

  setTimer(run: () => void, ms: number, options?: { keepAlive?: boolean }): Timer {
    const timer = systemClock.setTimer(
      () => {
        this.#pending.delete(counted)
        run()
      },
      ms,
      options,
    )
    const counted = {
      cancel: () => {
        this.#pending.delete(counted)
        timer.cancel()
      },
    }
    this.#pending.add(counted)
    return counted
  }

  endOfTurn(run: () => void): void {
    systemClock.endOfTurn(run)
  }
}
