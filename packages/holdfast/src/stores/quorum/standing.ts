import type { AcquireResult, Answer, ReleaseResult } from '../../store/contract.ts'
import type { StoreFailure } from '../../store/failure.ts'
import type { NodeAttempt } from './node-attempt.ts'

/**
 * What is known of one owner at one node. `member`: it holds there, and counts. `joining`: it holds there since a renewal
 * brought it in, and counts from the next renewal on. `absent`: it does not hold, as far as is known.
 */
export class Standing {
  state: 'absent' | 'joining' | 'member' = 'absent'
  /** The node's own fence of the grant. */
  fence: bigint | null = null
  /** The answer to a release. */
  released: Answer<ReleaseResult> | null = null
  /** Acquires that were not answered. */
  readonly #unanswered = new Set<NodeAttempt>()
  /** The node's time after which no doubtful copy of an acquire can be granted any more. */
  #doubtUntil = -Infinity

  /** An acquire is handed to the node's store. */
  asks(attempt: NodeAttempt): void {
    this.#unanswered.add(attempt)
  }

  /** @param as what a grant makes of it */
  answered(
    { result, maybeTwice }: Answer<AcquireResult>,
    attempt: NodeAttempt,
    as: 'joining' | 'member',
  ): void {
    this.#unanswered.delete(attempt)
    // "Mine" at the first ask: the node's client sent it twice.
    const again = result.kind === 'granted' && result.again && this.state === 'absent'
    if (maybeTwice || again) this.#doubts(attempt)
    if (result.kind !== 'granted') return
    // What counts already counts on, unless it is another grant.
    if (this.state === 'absent' || this.fence !== result.fence) this.state = as
    this.fence = result.fence
  }

  failed(failure: StoreFailure, attempt: NodeAttempt): void {
    this.#unanswered.delete(attempt)
    if (failure.outcome === 'unknown') this.#doubts(attempt)
  }

  /** The node has said that the owner does not hold there. */
  gone(): void {
    this.state = 'absent'
    this.fence = null
  }

  /** Nothing that was not sent yet is sent any more. */
  abandon(): void {
    for (const attempt of this.#unanswered) attempt.abandoned = true
  }

  /** Whether an acquire is under way. */
  get awaits(): boolean {
    return this.#unanswered.size > 0
  }

  /** Whether the node has, or may yet get, a key of this owner. */
  get mayHold(): boolean {
    return this.state !== 'absent' || this.#lastMoment() > -Infinity
  }

  /** Whether a release that was answered at this time of the node has cleared everything away. */
  clearedAt(serverTime: number): boolean {
    return serverTime > this.#lastMoment()
  }

  /** The node's milliseconds until a release can clear everything away. */
  doubtLeft(serverTime: number): number {
    return this.#lastMoment() - serverTime
  }

  #lastMoment(): number {
    let last = this.#doubtUntil
    for (const { sent, notAfter } of this.#unanswered) if (sent !== null) last = Math.max(last, notAfter ?? 0)
    return last
  }

  #doubts({ notAfter }: NodeAttempt): void {
    this.#doubtUntil = Math.max(this.#doubtUntil, notAfter ?? 0)
  }
}
