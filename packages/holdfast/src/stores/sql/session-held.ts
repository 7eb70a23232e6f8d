import type { Clock, Timer } from '../../clock.ts'
import { defaults } from '../../defaults.ts'
import { LockLostError, type LossReason } from '../../errors.ts'
import type { LockSession } from './session-lock.ts'

/** A session lock that is held. */
export class SessionHeld implements AsyncDisposable {
  readonly name: string
  readonly #session: LockSession
  readonly #clock: Clock
  readonly #check: number
  readonly #controller = new AbortController()
  #timer: Timer | null = null
  #lost: LossReason | null = null
  #released: Promise<SessionReleaseOutcome> | null = null

  /** Made by `SessionLock.acquire`. `check`: milliseconds. */
  constructor(name: string, session: LockSession, clock: Clock, check: number) {
    this.name = name
    this.#session = session
    this.#clock = clock
    this.#check = check
    session.onLost(() => this.#lose('missing'))
    this.#watch()
  }

  /** Aborts when the lock is lost, with a LockLostError as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** `'missing'`: the connection ended, and the lock with it; `'unreachable'`: it does not answer. `null` while it is not lost. */
  get lost(): LossReason | null {
    return this.#lost
  }

  /** @throws LockLostError when the lock is lost or given back, as far as this process knows */
  assertHeld(): void {
    if (this.#lost !== null) throw new LockLostError(this.name, this.#lost)
    if (this.#released !== null) throw new LockLostError(this.name, 'released')
  }

  /**
   * Gives the lock and its connection back; one round trip. Never rejects: a connection that fails, or does not answer within a second, is
   * ended, and the lock with it.
   */
  release(): Promise<SessionReleaseOutcome> {
    this.#released ??= this.#release()
    return this.#released
  }

  /** Never throws. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  async #release(): Promise<SessionReleaseOutcome> {
    this.#timer?.cancel()
    if (this.#lost !== null) return { released: false, reason: this.#lost }
    // Checks may be minutes apart, and nobody waits as long for a release.
    const patience = Math.min(this.#check, defaults.budget)
    const held = await this.#answered(this.#session.giveBack(this.name), patience)
    this.#session.close(held !== true)
    return held === false
      ? { released: false, reason: 'missing' }
      : { released: true, confirmed: held === true }
  }

  /** Asks from time to time whether the connection is alive. What is not answered by the next time is lost. */
  #watch(): void {
    this.#timer = this.#clock.setTimer(() => {
      void this.#answered(this.#session.check(), this.#check).then((answer) => {
        if (this.#lost !== null || this.#released !== null) return
        if (answer === null) this.#lose('unreachable')
        else this.#watch()
      })
    }, this.#check)
  }

  /** `null` when there was no answer within so many milliseconds, or an error. */
  #answered<T>(promise: Promise<T>, ms: number): Promise<T | null> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(() => resolve(null), ms)
      const settle = (answer: T | null): void => {
        timer.cancel()
        resolve(answer)
      }
      promise.then(settle, () => settle(null))
    })
  }

  #lose(reason: LossReason): void {
    if (this.#lost !== null || this.#released !== null) return
    this.#lost = reason
    this.#timer?.cancel()
    this.#session.close(true)
    this.#controller.abort(new LockLostError(this.name, reason))
  }
}

/** How a session lock was given back. `confirmed`: the database said so; else its connection was ended, and the lock with it. */
export type SessionReleaseOutcome =
  | { readonly released: true; readonly confirmed: boolean }
  | { readonly released: false; readonly reason: LossReason }
