import { listen, type HoldfastEventName, type HoldfastEvents } from '../events/channels.ts'
import { VirtualClock } from './virtual-clock.ts'

/** What the benches of locks, limits, idempotency and quorums have in common: a virtual clock, and ears. */
export class Bench {
  readonly clock: VirtualClock
  readonly #ends: (() => void)[] = []

  constructor(clock = new VirtualClock()) {
    this.clock = clock
  }

  /** What is told under this name from now on. */
  hear<N extends HoldfastEventName>(name: N): HoldfastEvents[N][] {
    const heard: HoldfastEvents[N][] = []
    this.#ends.push(listen(name, (event) => heard.push(event)))
    return heard
  }

  /** Lets a promise settle that needs time to pass; its value, or what it rejected with. */
  async outcomeOf<T>(promise: Promise<T>, ms: number): Promise<{ value: T } | { error: unknown }> {
    const outcome = promise.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    await this.clock.advance(ms)
    return outcome
  }

  /** Stops listening. */
  end(): void {
    for (const end of this.#ends.splice(0)) end()
  }
}
