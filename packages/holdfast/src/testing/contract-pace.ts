import type { Clock } from '../clock.ts'

/** Tries of a part that the machine is too slow for. */
const TRIES = 5

/** What the machine did not manage in time: no fault of the store. */
class TooSlow extends Error {}

/** How fast the time of a case goes: as the bench says, and slower where the machine cannot follow. */
export class Pace {
  readonly #clock: Clock
  #unit: number
  #tries = 1

  /** @param unit milliseconds, as the bench has it */
  constructor(clock: Clock, unit: number) {
    this.#clock = clock
    this.#unit = unit
  }

  /** Milliseconds of that many units. */
  units(count: number): number {
    return count * this.#unit
  }

  /** A name that is another one in each try. */
  name(base: string): string {
    return this.#tries === 1 ? base : `${base}, try ${this.#tries}`
  }

  /**
   * Runs a part in which leases must not end before they are looked at. After each such look it calls `by` with the units within which
   * that had to be, counted from the part's beginning. When a busy machine took longer, the part begins again: under other names, and with
   * longer units.
   */
  async inTime<T>(part: (by: (units: number) => void) => Promise<T>): Promise<T> {
    for (;;) {
      const began = this.#clock.monotonic()
      const by = (units: number): void => {
        const took = this.#clock.monotonic() - began
        if (took > this.units(units)) throw new TooSlow(`${took} ms for what may take ${this.units(units)}`)
      }
      try {
        return await part(by)
      } catch (error) {
        if (!(error instanceof TooSlow) || this.#tries === TRIES) throw error
        this.#tries += 1
        this.#unit *= 2
      }
    }
  }
}
