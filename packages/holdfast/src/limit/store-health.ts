import { events } from '../events/channels.ts'
import type { StoreFailure } from '../store/failure.ts'
import type { StoreErrorChoice } from './options.ts'

/** Failures that speak of one subject's keys, and say nothing about the store. */
const OF_ONE_SUBJECT: readonly string[] = ['WRONGTYPE', 'NOPERM', 'ERR']

/** Whether a call may go to the store: as always, as the one that finds out whether it answers again, or not at all. */
export type Passage = 'open' | 'probe' | 'shut'

/**
 * Whether the store decides. After a failure one call at a time finds out; the others do not wait for a store that is known
 * not to answer. No timer: the calls themselves are the probes.
 */
export class StoreHealth {
  readonly #limiter: string
  readonly #store: string
  #failure: StoreFailure | null = null
  #probing = false

  constructor(limiter: string, store: string) {
    this.#limiter = limiter
    this.#store = store
  }

  /** Why it is taken for down; `null` while it is up. */
  get failure(): StoreFailure | null {
    return this.#failure
  }

  /** A call wants to go. One that is let through has to tell how it ended. */
  pass(): Passage {
    if (this.#failure === null) return 'open'
    if (this.#probing) return 'shut'
    this.#probing = true
    return 'probe'
  }

  /** @param policy what the limiter does about it, for the event */
  ended(passage: 'open' | 'probe', failure: StoreFailure | null, policy: StoreErrorChoice): void {
    if (passage === 'probe') this.#probing = false
    if (failure === null) {
      // A call that began before the failure says nothing about what is after it.
      if (passage === 'probe') this.#change(null, policy)
    } else if (!OF_ONE_SUBJECT.includes(failure.reason)) {
      this.#change(failure, policy)
    }
  }

  #change(failure: StoreFailure | null, policy: StoreErrorChoice): void {
    const changed = (this.#failure === null) !== (failure === null)
    this.#failure = failure
    if (!changed || !events.limitStoreState.hasSubscribers) return
    const state = failure === null ? 'up' : 'down'
    const reason = failure?.reason ?? null
    events.limitStoreState.publish({ limiter: this.#limiter, store: this.#store, state, policy, reason })
  }
}
