import type { Clock, Randomness, Timer } from '../../clock.ts'
import { bounds } from '../../defaults.ts'

interface WakesParts {
  readonly clock: Clock
  readonly randomness: Randomness
  readonly majority: number
  readonly wake: (key: string) => void
}

interface Pending {
  /** Who has woken us. */
  readonly nodes: Set<number>
  /** Whether that was passed on; the wake-ups of the other nodes are then no news. */
  told: boolean
  timer: Timer | null
}

/**
 * When the waiters of this process ask again. At once when a majority of the nodes woke them. After a random while when fewer
 * did: the others woke somebody else, who goes first. And after a split vote after a random while as well, so that those who
 * stood in each other's way do not meet again.
 */
export class Wakes {
  readonly #parts: WakesParts
  readonly #pending = new Map<string, Pending>()

  constructor(parts: WakesParts) {
    this.#parts = parts
  }

  heard(node: number, key: string): void {
    // A node that wakes us again speaks of another release.
    if (this.#pending.get(key)?.nodes.has(node) === true) this.#forget(key)
    const pending = this.#pendingAt(key)
    pending.nodes.add(node)
    if (pending.told) return
    if (pending.nodes.size < this.#parts.majority) return this.#wakeWithin(key, bounds.minorityWake)
    this.#parts.wake(key)
    pending.told = true
    pending.timer?.cancel()
    pending.timer = this.#parts.clock.setTimer(() => this.#forget(key), bounds.minorityWake)
  }

  /**
   * Nobody had the majority.
   *
   * @param took how long the round took, in milliseconds: with slow nodes the contenders must be spread further
   */
  split(key: string, took: number): void {
    const spread = Math.max(bounds.shortestSplitVote, took * bounds.splitVoteRounds)
    this.#wakeWithin(key, Math.min(bounds.safetyPoll, spread))
  }

  close(): void {
    for (const { timer } of this.#pending.values()) timer?.cancel()
    this.#pending.clear()
  }

  #pendingAt(key: string): Pending {
    let pending = this.#pending.get(key)
    if (pending === undefined)
      this.#pending.set(key, (pending = { nodes: new Set(), told: false, timer: null }))
    return pending
  }

  /** Full jitter: any time from now to then is as likely. */
  #wakeWithin(key: string, ms: number): void {
    const { clock, randomness, wake } = this.#parts
    const pending = this.#pendingAt(key)
    if (pending.told) pending.timer?.cancel()
    else if (pending.timer !== null) return
    pending.told = false
    pending.timer = clock.setTimer(() => {
      this.#forget(key)
      wake(key)
    }, ms * randomness.fraction())
  }

  #forget(key: string): void {
    this.#pending.get(key)?.timer?.cancel()
    this.#pending.delete(key)
  }
}
