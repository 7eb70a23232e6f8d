import { LockLostError, LockTimeoutError, type WorkOutcome } from '../errors.ts'
import { lockAddresses } from '../name.ts'
import { checkFunction } from '../options.ts'
import { Held } from './held.ts'
import { Obtainer, type LockContext, type Obtained } from './obtainer.ts'
import {
  checkAcquireOptions,
  checkLockOptions,
  type AcquireOptions,
  type CheckedAcquireOptions,
  type CheckedLockOptions,
  type LockOptions,
} from './options.ts'
import type { Share } from './share.ts'

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
  async acquire(options?: AcquireOptions): Promise<Held> {
    const checked = checkAcquireOptions(options, this.#options, 'acquire')
    return new Held(await this.#obtain(checked))
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
    const checked = checkAcquireOptions(options, this.#options, 'run')
    return this.#runHeld(await this.#obtain(checked), work)
  }

  /** As {@link run}, but only if the lock is free now. */
  async tryRun<T>(work: (held: Held) => T | PromiseLike<T>, options?: TryOptions): Promise<TryRunResult<T>> {
    checkFunction(work, 'work', 'lock.tryRun(async (held) => { … })')
    const obtained = await this.#tryObtain(options, 'tryRun')
    if (!('share' in obtained)) return { ran: false, holder: obtained.holder }
    return { ran: true, value: await this.#runHeld(obtained.share, work) }
  }

  async #obtain(options: CheckedAcquireOptions): Promise<Share> {
    const began = this.#context.engine.clock.monotonic()
    const obtained = await this.#obtainer.obtain(options)
    if ('share' in obtained) return obtained.share
    throw new LockTimeoutError(this.name, this.#context.engine.clock.monotonic() - began, obtained.holder)
  }

  async #tryObtain(options: TryOptions | undefined, where: string): Promise<Obtained> {
    const checked = {
      ...checkAcquireOptions(options, this.#options, where, ['signal', 'ttl', 'within']),
      wait: 0,
    }
    try {
      return await this.#obtainer.obtain(checked)
    } catch (error) {
      // Another branch of this very flow has it.
      if (error instanceof LockTimeoutError) return { holder: error.holder }
      throw error
    }
  }

  async #runHeld<T>(share: Share, work: (held: Held) => T | PromiseLike<T>): Promise<T> {
    const held = new Held(share)
    const call = async (): Promise<T> => work(held)
    let ended: { value: T } | { error: unknown }
    try {
      ended = { value: await (this.#options.reentrant ? this.#context.reentry.inside(share, call) : call()) }
    } catch (error) {
      ended = { error }
    }
    const trouble = await releaseAfter(held, ended)
    if ('error' in ended) {
      if (trouble !== null) attach(ended.error, trouble)
      throw ended.error
    }
    if (trouble instanceof LockLostError) throw trouble
    return ended.value
  }
}

/** Gives the lock back after the work; what went wrong with the lock, if anything did. */
async function releaseAfter(held: Held, work: WorkOutcome): Promise<Error | null> {
  try {
    const outcome = await held.release()
    return outcome.released ? null : new LockLostError(held.name, outcome.reason, work)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/**
 * Lets our error ride along with the user's own, which is never replaced. Primitives cannot carry it, nor can objects that
 * are frozen or do not let it be set.
 */
function attach(error: unknown, ours: Error): void {
  if (typeof error !== 'object' || error === null || error === ours) return
  try {
    const parts = { value: ours, enumerable: false, configurable: true, writable: true }
    Reflect.defineProperty(error, 'holdfast', parts)
  } catch {
    // A proxy of theirs said no.
  }
}
