import { LockTimeoutError } from '../errors.ts'
import { lockAddresses } from '../name.ts'
import { checkFunction } from '../options.ts'
import { Held, shareOf } from './held.ts'
import { Obtainer, type LockContext, type Obtained } from './obtainer.ts'
import {
  checkAcquireOptions,
  checkLockOptions,
  type AcquireOptions,
  type CheckedLockOptions,
  type LockOptions,
} from './options.ts'
import { runHeld } from './running.ts'

/** What {@link Lock.tryRun} came to. */
export type TryRunResult<T> =
  | { readonly ran: true; readonly value: T }
  /** `holder`: the owner who has it; `null` when that is not known. */
  | { readonly ran: false; readonly holder: string | null }

/** Options of the calls that never wait. */
export type TryOptions = Omit<AcquireOptions, 'wait'>

/**
 * An exclusive lock by name. The object holds nothing and costs nothing; any number of calls may use it at once, and each
 * has its own owner, lease and fence.
 *
 * What it promises: while the store keeps its data and clocks run at like speed (to 1 %), no two callers hold one name at
 * once, each by its own local deadline; a holder learns of its loss at that deadline at the latest, without a reachable
 * store. What it does not: a store that loses data can grant the lock again, and a holder can be paused between a check and
 * a write. Against both stands the fence, checked at the resource.
 */
export class Lock {
  readonly name: string
  readonly #context: LockContext
  readonly #options: CheckedLockOptions
  readonly #obtainer: Obtainer

  /** Made by `hf.lock()`. */
  constructor(context: LockContext, name: string, options?: LockOptions) {
    this.name = name
    this.#context = context
    this.#options = checkLockOptions(options)
    const addresses = lockAddresses(context.prefixes, name, this.#options.key)
    this.#obtainer = new Obtainer(context, name, this.#options, addresses)
  }

  /**
   * Takes the lock, waiting for it up to `wait`. One round trip when it is free. Settles within `wait` plus one budget plus
   * 100 ms, whatever client and store do; when it rejects, nothing of ours stays on the store beyond the budget.
   *
   * @throws LockTimeoutError (says who holds it), StoreUnavailableError, StoreRefusedError, ClosedError,
   *   InvalidArgumentError, or the signal's reason
   */
  acquire(options?: AcquireOptions): Promise<Held> {
    return this.#acquire(options, 'acquire')
  }

  /** Takes the lock if it is free now, else `null`. One round trip; never waits for a holder. Throws as `acquire` does. */
  async tryAcquire(options?: TryOptions): Promise<Held | null> {
    const obtained = await this.#tryObtain(options, 'tryAcquire')
    return 'share' in obtained ? new Held(obtained.share) : null
  }

  /**
   * Runs `work` while holding the lock, and gives it back. Waits as `acquire` does. Resolves with what the work returned.
   *
   * When the lock was lost meanwhile, the work goes on until it ends (its `held.signal` tells it), and `run` rejects with a
   * LockLostError whose `work` says how it ended. The work's own error is never replaced: ours rides along as its
   * non-enumerable `holdfast`. A release that fails only by the network does not undo the work's success: it is told by the
   * event `holdfast:lock:release-failed`, and the key ends by its expiry.
   *
   * @throws what the work throws; LockLostError; and as `acquire` does, in which case the work did not run
   */
  async run<T>(work: (held: Held) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    checkFunction(work, 'work', 'lock.run(async (held) => { … })')
    return this.#runHeld(await this.#acquire(options, 'run'), work)
  }

  /** As {@link run}, but only if the lock is free now. */
  async tryRun<T>(work: (held: Held) => T | PromiseLike<T>, options?: TryOptions): Promise<TryRunResult<T>> {
    checkFunction(work, 'work', 'lock.tryRun(async (held) => { … })')
    const obtained = await this.#tryObtain(options, 'tryRun')
    if (!('share' in obtained)) return { ran: false, holder: obtained.holder }
    return { ran: true, value: await this.#runHeld(new Held(obtained.share), work) }
  }

  #acquire(options: AcquireOptions | undefined, where: string): Promise<Held> {
    return new Promise((resolve, reject) => {
      const obtained = (result: Obtained): void => {
        if ('share' in result) resolve(new Held(result.share))
        else reject(new LockTimeoutError(this.name, result.waited, result.holder))
      }
      this.#obtainer.obtain(checkAcquireOptions(options, this.#options, where), obtained, reject)
    })
  }

  async #tryObtain(options: TryOptions | undefined, where: string): Promise<Obtained> {
    const checked = {
      ...checkAcquireOptions(options, this.#options, where, ['signal', 'ttl', 'within']),
      wait: 0,
    }
    try {
      return await new Promise<Obtained>((resolve, reject) => this.#obtainer.obtain(checked, resolve, reject))
    } catch (error) {
      // Another branch of this very flow has it.
      if (error instanceof LockTimeoutError) return { holder: error.holder, waited: 0 }
      throw error
    }
  }

  #runHeld<T>(held: Held, work: (held: Held) => T | PromiseLike<T>): Promise<T> {
    const call = async (): Promise<T> => work(held)
    const inside = (): Promise<T> => this.#context.reentry.inside(shareOf(held), call)
    return runHeld(held, this.#options.reentrant ? inside : call)
  }
}
