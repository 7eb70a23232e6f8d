import { bounds } from '../defaults.ts'

/** What one answer told about the server's clock: by how much it is ahead of ours (monotonic), at least and at most, in ms. */
interface Offset {
  readonly least: number
  readonly most: number
  /** When it was told; monotonic milliseconds. */
  readonly at: number
}

/**
 * Holds the server's clock against our monotonic one, answer by answer. Each answer's time was read between sending and arrival, so that it
 * bounds how far apart the two are; bounds that do not meet any more, by more than clocks drift, mean a step.
 */
export class ClockWatch {
  #last: Offset | null = null

  /**
   * @param serverTime the server's time in the answer
   * @param sent when the request was sent, `arrived` when the answer came: monotonic milliseconds
   * @param allowance how far the clocks may drift apart in a lease, in ms
   * @returns by how many ms the server's clock was stepped; 0 when it was not
   */
  saw(serverTime: number, sent: number, arrived: number, allowance: number): number {
    const last = this.#last
    const least = serverTime - arrived
    // The server's time is cut to whole milliseconds.
    const most = serverTime + 1 - sent
    if (last === null) {
      this.#last = { least, most, at: arrived }
      return 0
    }
    const drift = Math.max(allowance, (arrived - last.at) * bounds.driftShare + bounds.driftFloor)
    const forward = least - last.most
    const back = last.least - most
    const jump = forward > drift ? forward : back > drift ? -back : 0
    // A narrow bound is worth more than a late one; after a while it has drifted.
    const narrower = most - least <= last.most - last.least || arrived - last.at > bounds.clockMemory
    if (jump !== 0 || narrower) this.#last = { least, most, at: arrived }
    return jump
  }
}

/** A watch for each server that answers, and which of them each lock was last heard of from. */
export class ClockWatches {
  /** Where there is one server. */
  readonly #only = new ClockWatch()
  readonly #watches = new WeakMap<object, ClockWatch>()
  readonly #clocks = new WeakMap<object, object>()

  /**
   * An answer about a lock came; as {@link ClockWatch.saw}.
   *
   * @param lock whatever stands for it as long as it is held
   * @param answer its time, and what stands for its server; `sent` and `arrived` in monotonic milliseconds
   */
  saw(
    lock: object,
    answer: { readonly serverTime: number; readonly clock?: object | undefined },
    { sent, arrived, allowance }: { sent: number; arrived: number; allowance: number },
  ): number {
    const { clock, serverTime } = answer
    if (clock === undefined) return this.#only.saw(serverTime, sent, arrived, allowance)
    this.#clocks.set(lock, clock)
    let watch = this.#watches.get(clock)
    if (watch === undefined) this.#watches.set(clock, (watch = new ClockWatch()))
    return watch.saw(serverTime, sent, arrived, allowance)
  }

  /** Whether two locks end by one clock, as far as is known. */
  areAlike(one: object, other: object): boolean {
    return this.#clocks.get(one) === this.#clocks.get(other)
  }
}
