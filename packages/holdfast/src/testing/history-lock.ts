import { defaults } from '../defaults.ts'
import { acquireOutcome, errorText, toMilliseconds } from './history-answers.ts'
import { RecordedHold } from './history-hold.ts'
import type { HistoryRecorder } from './history-recorder.ts'
import type { AskOptions, HeldLike, LockAbout, LockLike } from './history-shapes.ts'

interface Ask {
  readonly id: string
  readonly ttl: number | null
  readonly budget: number | null
  /** The id of the hold that the caller names as the outer one. */
  readonly within: string | null
}

/** A lock whose calls are recorded. It asks, answers and throws exactly as the lock it wraps. */
export class RecordedLock<H extends HeldLike> {
  readonly #recorder: HistoryRecorder
  readonly #lock: LockLike<H>
  readonly #about: LockAbout
  readonly #holds = new Set<RecordedHold<H>>()

  constructor(recorder: HistoryRecorder, lock: LockLike<H>, about: LockAbout) {
    this.#recorder = recorder
    this.#lock = lock
    this.#about = about
  }

  /** Calls the lock's `acquire`. */
  async acquire(options?: AskOptions<H>): Promise<RecordedHold<H>> {
    const ask = this.#ask(options, toMilliseconds(options?.wait ?? this.#about.wait, 'wait', defaults.wait))
    let held: H
    try {
      held = await this.#lock.acquire(options)
    } catch (error) {
      throw this.#rejected(ask, error)
    }
    return this.#granted(ask, held)
  }

  /** Calls the lock's `tryAcquire`. */
  async tryAcquire(options?: AskOptions<H>): Promise<RecordedHold<H> | null> {
    const ask = this.#ask(options, 0)
    if (this.#lock.tryAcquire === undefined)
      throw this.#rejected(ask, new TypeError('this lock has no tryAcquire'))
    let held: H | null
    try {
      held = await this.#lock.tryAcquire(options)
    } catch (error) {
      throw this.#rejected(ask, error)
    }
    if (held !== null) return this.#granted(ask, held)
    this.#recorder.note({ kind: 'acquire-return', id: ask.id, outcome: 'busy' })
    return null
  }

  /**
   * Calls the lock's `run`. The hold begins with the work and ends with it; how the release behind it ended cannot be
   * seen, and is recorded as unknown.
   */
  async run<T>(work: (hold: RecordedHold<H>) => Promise<T>, options?: AskOptions<H>): Promise<T> {
    const ask = this.#ask(options, toMilliseconds(options?.wait ?? this.#about.wait, 'wait', defaults.wait))
    let hold: RecordedHold<H> | null = null
    const recorded = async (held: H): Promise<T> => {
      hold = this.#granted(ask, held)
      try {
        return await work(hold)
      } finally {
        hold.leave()
      }
    }
    try {
      if (this.#lock.run === undefined) throw new TypeError('this lock has no run')
      return await this.#lock.run(recorded, options)
    } catch (error) {
      if (hold === null) this.#rejected(ask, error)
      throw error
    } finally {
      // The assignment above is out of the compiler's sight.
      ;(hold as RecordedHold<H> | null)?.left()
    }
  }

  #ask(options: AskOptions<H> | undefined, wait: number): Ask {
    const id = this.#recorder.nextId()
    const { name, renews } = this.#about
    const ttl = toMilliseconds(options?.ttl ?? this.#about.ttl, 'ttl', null)
    const budget = toMilliseconds(this.#about.budget, 'budget', defaults.budget)
    const within = options?.within === undefined ? null : this.#idOf(options.within)
    this.#recorder.note({ kind: 'acquire-call', id, name, ttl, wait, budget, renews: renews ?? null })
    return { id, ttl, budget, within }
  }

  #granted(ask: Ask, held: H): RecordedHold<H> {
    const { id, ttl, budget } = ask
    const about = { id, name: this.#about.name, ttl, budget, ended: () => void this.#holds.delete(hold) }
    const hold: RecordedHold<H> = new RecordedHold(this.#recorder, held, about)
    this.#recorder.note({
      kind: 'acquire-return',
      id,
      outcome: 'granted',
      owner: held.owner ?? null,
      fence: held.fence ?? null,
      lease: held.owner ?? null,
      deadline: hold.look(),
      within: ask.within ?? this.#outerOf(held),
    })
    this.#holds.add(hold)
    hold.begin()
    return hold
  }

  /** Records the failure, and gives the error back to be thrown. */
  #rejected(ask: Ask, error: unknown): unknown {
    const outcome = acquireOutcome(error)
    this.#recorder.note({ kind: 'acquire-return', id: ask.id, outcome, error: errorText(error) })
    return error
  }

  #idOf(held: H): string | null {
    for (const hold of this.#holds) if (hold.held === held) return hold.id
    return null
  }

  #outerOf(held: H): string | null {
    if (this.#about.reentrant !== true) return null
    for (const hold of this.#holds) {
      if (hold.held.owner === held.owner && hold.held.fence === held.fence) return hold.id
    }
    return null
  }
}
