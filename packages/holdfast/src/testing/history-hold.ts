import type { Duration } from '../duration.ts'
import type { Timer } from '../clock.ts'
import { errorText, failedRelease, releaseOutcome, toMilliseconds } from './history-answers.ts'
import type { HistoryRecorder } from './history-recorder.ts'
import type { HeldLike, ReleaseAnswer } from './history-shapes.ts'

/** A deadline that moved by less is taken for the same: clocks are read a moment apart. */
const SAME_DEADLINE_MS = 1
/** Reading a deadline takes two looks at the clock. If more than this passed between them, it is read again. */
const READING_MS = 1
const READINGS = 3
const LOOKS_PER_TTL = 6
const SHORTEST_LOOK_MS = 5
const LOOK_WITHOUT_TTL_MS = 50

/**
 * A held lock whose fate is recorded. Use its `release`, `assertHeld` and `extend` instead of those of `held`; everything
 * else is at `held`.
 */
export class RecordedHold<H extends HeldLike> {
  /** The id of the acquire in the history. */
  readonly id: string
  readonly held: H
  readonly #recorder: HistoryRecorder
  readonly #name: string
  readonly #budget: number | null
  readonly #ended: () => void
  readonly #ttl: number | null
  /** The longest lease asked for by `extend`. */
  #extended: number | null = null
  #deadline: number | null = null
  #looking: Timer | null = null
  #over = false
  #leaving: string | null = null
  readonly #onAbort = (): void => this.#lose()

  constructor(
    recorder: HistoryRecorder,
    held: H,
    about: { id: string; name: string; ttl: number | null; budget: number | null; ended: () => void },
  ) {
    this.#recorder = recorder
    this.held = held
    this.id = about.id
    this.#name = about.name
    this.#ttl = about.ttl
    this.#budget = about.budget
    this.#ended = about.ended
  }

  /** Records the release, what it answered and when. Answers and throws as the lock does; may be called again after a failure. */
  async release(): Promise<ReleaseAnswer> {
    const id = this.#askRelease()
    try {
      const answer = await this.held.release()
      this.#recorder.note({ kind: 'release-return', id, ...releaseOutcome(answer) })
      return answer
    } catch (error) {
      this.#recorder.note({
        kind: 'release-return',
        id,
        outcome: failedRelease(error),
        reason: errorText(error),
      })
      throw error
    }
  }

  /** Records whether the lock says that it is held, and throws as the lock does when it is not. */
  assertHeld(): void {
    this.look()
    const time = this.#recorder.time()
    try {
      if (this.held.assertHeld === undefined) throw new TypeError('this lock has no assertHeld')
      this.held.assertHeld()
    } catch (error) {
      this.#recorder.note({ kind: 'assertion', hold: this.id, passed: false, time })
      throw error
    }
    this.#recorder.note({ kind: 'assertion', hold: this.id, passed: true, time })
  }

  /** Asks for a longer lease, and records whether that settled in time and how the deadline moved. */
  async extend(ttl: Duration): Promise<unknown> {
    return this.#recorder.call('extend', { name: this.#name, budget: this.#budget }, async () => {
      if (this.held.extend === undefined) throw new TypeError('this lock has no extend')
      const asked = toMilliseconds(ttl, 'ttl', null)
      this.#extended = Math.max(this.#extended ?? this.#ttl ?? 0, asked ?? 0)
      const before = this.#deadline
      const answer = await this.held.extend(ttl)
      // Where another bound ends the hold, its deadline stays, and the lease is longer all the same.
      if (this.look() === before && before !== null) this.#renewed(before)
      return answer
    })
  }

  /** Looks at the deadline now and records it if it moved on. Returns it; `null` when the lock does not tell. */
  look(): number | null {
    if (this.#over) return null
    const deadline = this.#readDeadline()
    if (deadline === null) return null
    const before = this.#deadline
    if (before !== null && deadline <= before + SAME_DEADLINE_MS) return before
    this.#deadline = deadline
    if (before !== null) this.#renewed(deadline)
    return deadline
  }

  #renewed(deadline: number): void {
    this.#recorder.note({ kind: 'renewal', hold: this.id, deadline, ttl: this.#extended })
  }

  /** For the lock that made it: the grant is recorded, and now its end is watched for. */
  begin(): void {
    const { signal } = this.held
    if (signal?.aborted === true) return this.#lose()
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (this.held.remaining !== undefined) this.#lookAgain()
  }

  /** For `run`: the work is over, and the lock will be released by whoever called it. */
  leave(): void {
    this.#leaving ??= this.#askRelease()
  }

  /** For `run`: it has settled. */
  left(): void {
    this.leave()
    if (this.#leaving !== null)
      this.#recorder.note({ kind: 'release-return', id: this.#leaving, outcome: 'unknown' })
  }

  #askRelease(): string {
    this.look()
    this.#finish()
    const id = this.#recorder.nextId()
    this.#recorder.note({ kind: 'release-call', id, hold: this.id, budget: this.#budget })
    return id
  }

  #lose(): void {
    if (this.#over) return
    const reason = this.held.lost ?? reasonOf(this.held.signal?.reason)
    this.#recorder.note({ kind: 'loss', hold: this.id, reason, deadline: this.#deadline })
    this.#finish()
  }

  #finish(): void {
    this.#over = true
    this.#looking?.cancel()
    this.held.signal?.removeEventListener('abort', this.#onAbort)
    this.#ended()
  }

  #lookAgain(): void {
    const byTtl =
      this.#ttl === null ? LOOK_WITHOUT_TTL_MS : Math.max(SHORTEST_LOOK_MS, this.#ttl / LOOKS_PER_TTL)
    const every = this.#recorder.lookEvery ?? byTtl
    if (every === 0) return
    this.#looking = this.#recorder.clock.setTimer(() => {
      this.look()
      this.#lookAgain()
    }, every)
  }

  /**
   * Never later than the true one, and at most `READING_MS` earlier. A hold that is over keeps the one it had; one that was
   * over at the first look has this moment, which is as much as is known.
   */
  #readDeadline(): number | null {
    if (this.held.remaining === undefined) return null
    for (let reading = 0; reading < READINGS; reading += 1) {
      const before = this.#recorder.time()
      const left = this.held.remaining()
      if (this.#recorder.time() - before > READING_MS) continue
      return left > 0 ? before + left : (this.#deadline ?? before)
    }
    return null
  }
}

function reasonOf(reason: unknown): string {
  if (
    typeof reason === 'object' &&
    reason !== null &&
    'reason' in reason &&
    typeof reason.reason === 'string'
  ) {
    return reason.reason
  }
  return errorText(reason)
}
