import type { Clock, Timer } from '../../clock.ts'
import { bounds, defaults } from '../../defaults.ts'
import { parseDuration, type Duration } from '../../duration.ts'
import { InvalidArgumentError, LockLostError, LockTimeoutError } from '../../errors.ts'
import { checkFunction, checkNoOptions, checkOptions, checkSignal } from '../../options.ts'
import { publicError, type StoreFailure } from '../../store/failure.ts'
import { SessionHeld } from './session-held.ts'

/** What a session lock takes. */
export interface SessionLockOptions {
  /** The longest wait for the lock. At most 24 h; default 5 s. */
  wait?: Duration
  /**
   * How often a holder asks whether its connection still answers. One that does not answer until the next time is lost; a connection that is
   * closed is noticed at once. 100 ms to 10 min; default 5 s.
   */
  check?: Duration
}

/** What one acquire takes. */
export interface SessionAcquireOptions {
  /** As in the lock's own options. */
  wait?: Duration
  /** Ends the wait with its reason. */
  signal?: AbortSignal
}

/** A connection that is kept for one hold. */
export interface LockSession {
  /**
   * Takes the lock, waiting in the database for so many milliseconds. Rejects with the client's own error.
   *
   * @returns whether it was got
   */
  take(name: string, wait: number): Promise<boolean>
  /** Gives the lock back, and tells whether it was held. */
  giveBack(name: string): Promise<boolean>
  /** Resolves when the connection answers. */
  check(): Promise<unknown>
  /** Called when the connection ends by itself. */
  onLost(run: (cause: unknown) => void): void
  /** Gives the connection back; `broken`: ends it, and with it whatever it holds. */
  close(broken: boolean): void
}

export interface SessionLockParts {
  readonly clock: Clock
  readonly connect: () => Promise<LockSession>
  readonly failureOf: (error: unknown) => StoreFailure
}

/**
 * A lock that a connection to the database holds. It has no expiry and nothing to renew: it ends when it is given back, or when its
 * connection ends, by whichever side. That loss is told at once to the process that sees it. It has no fence: a holder that is cut off
 * from the database without noticing, for at most twice `check`, may work while another has been granted the lock.
 */
export class SessionLock {
  readonly name: string
  readonly #parts: SessionLockParts
  readonly #wait: number
  readonly #check: number

  constructor(name: string, options: SessionLockOptions, parts: SessionLockParts) {
    if (typeof name !== 'string' || name === '' || !name.isWellFormed())
      throw new InvalidArgumentError('name', name, {
        problem: 'is not a name',
        remedy: "Give well-formed text that says what is protected, as 'report:nightly'.",
      })
    checkOptions(options, ['wait', 'check'], 'session lock')
    this.name = name
    this.#parts = parts
    const { wait = defaults.wait, check = defaults.sessionCheck } = options
    this.#wait = parseDuration(wait, 'wait', { min: 0, max: bounds.maxWait })
    this.#check = parseDuration(check, 'check', {
      min: bounds.minSessionCheck,
      max: bounds.maxSessionCheck,
    })
  }

  /**
   * Takes a connection and the lock. Waiters are served by the database in the order in which they came.
   *
   * @throws LockTimeoutError, the signal's reason, InvalidArgumentError, StoreUnavailableError, StoreRefusedError
   */
  async acquire(options: SessionAcquireOptions = {}): Promise<SessionHeld> {
    checkOptions(options, ['wait', 'signal'], 'acquire')
    const wait =
      options.wait === undefined
        ? this.#wait
        : parseDuration(options.wait, 'wait', { min: 0, max: bounds.maxWait })
    const signal = options.signal === undefined ? null : checkSignal(options.signal, 'signal')
    if (signal?.aborted === true) throw signal.reason
    const began = this.#parts.clock.monotonic()
    const held = await this.#take(wait, signal)
    if (held !== null) return held
    throw new LockTimeoutError(this.name, this.#parts.clock.monotonic() - began, null)
  }

  /** As {@link acquire} without waiting for the lock; `null` when another has it. */
  async tryAcquire(...none: never[]): Promise<SessionHeld | null> {
    checkNoOptions(none, 'tryAcquire')
    return this.#take(0, null)
  }

  /**
   * Runs `work` under the lock, and gives it back.
   *
   * @throws what the work throws; LockLostError with what the work returned when the lock was lost before it was given back; what `acquire` throws
   */
  async run<T>(
    work: (held: SessionHeld) => T | PromiseLike<T>,
    options: SessionAcquireOptions = {},
  ): Promise<T> {
    checkFunction(work, 'work', 'lock.run(async (held) => { … })')
    const held = await this.acquire(options)
    let value: T
    try {
      value = await work(held)
    } catch (error) {
      await held.release()
      throw error
    }
    // Also one that was lost unseen, as behind a pooler that hands each statement to another connection.
    const outcome = await held.release()
    if (!outcome.released) throw new LockLostError(this.name, outcome.reason, { value })
    return value
  }

  async #take(wait: number, signal: AbortSignal | null): Promise<SessionHeld | null> {
    const { clock, connect, failureOf } = this.#parts
    const until = clock.monotonic() + wait
    const patience = new Patience(clock, wait + defaults.budget, signal)
    let session: LockSession | null = null
    try {
      const connecting = connect()
      connecting.then(
        (late) => patience.over && session === null && late.close(true),
        () => undefined,
      )
      session = await patience.for(connecting)
      const got = await patience.for(
        session.take(this.name, Math.max(0, Math.floor(until - clock.monotonic()))),
      )
      if (got) return new SessionHeld(this.name, session, clock, this.#check)
      session.close(false)
      return null
    } catch (error) {
      session?.close(true)
      if (signal?.aborted === true) throw signal.reason
      const failure = failureOf(error)
      throw publicError(
        { kind: 'refused', failure },
        `Acquiring the session lock ${JSON.stringify(this.name)}`,
      )
    } finally {
      patience.end()
    }
  }
}

/** A bound on waiting for a client that may stay silent. */
class Patience {
  over = false
  readonly #timer: Timer
  readonly #unhook: () => void
  #reject: (error: unknown) => void = () => undefined
  readonly #end = new Promise<never>((_resolve, reject) => (this.#reject = reject))

  constructor(clock: Clock, ms: number, signal: AbortSignal | null) {
    this.#end.catch(() => undefined)
    const giveUp = (error: unknown): void => {
      this.over = true
      this.#reject(error)
    }
    this.#timer = clock.setTimer(() => giveUp(new Error('the database did not answer in time')), ms, {
      keepAlive: true,
    })
    const onAbort = (): void => giveUp(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#unhook = () => signal?.removeEventListener('abort', onAbort)
  }

  for<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#end])
  }

  end(): void {
    this.#timer.cancel()
    this.#unhook()
  }
}
