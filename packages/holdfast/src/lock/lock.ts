import { LockLostError, LockTimeoutError, type WorkOutcome } from '../errors.ts'
import { events, type HoldfastEvents } from '../events/channels.ts'
import { lockAddress, type LockAddress } from '../name.ts'
import { checkFunction } from '../options.ts'
import type { Holder } from '../store/contract.ts'
import { publicError } from '../store/failure.ts'
import { Acquisition, type LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'
import { Held, shareOf } from './held.ts'
import type { Lease } from './lease.ts'
import { LeasePair } from './lease-pair.ts'
import {
  checkAcquireOptions,
  checkLockOptions,
  checkWithin,
  type AcquireOptions,
  type CheckedAcquireOptions,
  type CheckedLockOptions,
  type LockOptions,
} from './options.ts'
import { nestIn, type Reentry } from './reentry.ts'
import { Share } from './share.ts'

/** What every lock of a Holdfast instance is made with. */
export interface LockContext {
  readonly engine: LockEngine
  readonly reentry: Reentry
  /** The prefix in use, and before it the old one while it changes. The old one is always taken first. */
  readonly prefixes: readonly [string, ...string[]]
}

/** What {@link Lock.tryRun} came to. */
export type TryRunResult<T> =
  | { readonly ran: true; readonly value: T }
  /** `holder`: the owner who has it; `null` when that is not known. */
  | { readonly ran: false; readonly holder: string | null }

/** Options of the calls that never wait. */
export type TryOptions = Omit<AcquireOptions, 'wait'>

type Obtained = { readonly share: Share } | { readonly holder: string | null }

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
  readonly #addresses: readonly LockAddress[]

  /** Made by `hf.lock()`. */
  constructor(context: LockContext, name: string, options?: LockOptions) {
    this.name = name
    this.#context = context
    this.#options = checkLockOptions(options)
    const { key } = this.#options
    // An exact key is the same under every prefix.
    const prefixes = key === undefined ? context.prefixes : context.prefixes.slice(-1)
    this.#addresses = prefixes.map((prefix) => lockAddress(prefix, name, key))
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
    const obtained = await this.#obtainShare(options)
    if ('share' in obtained) return obtained.share
    throw new LockTimeoutError(this.name, this.#context.engine.clock.monotonic() - began, obtained.holder)
  }

  async #tryObtain(options: TryOptions | undefined, where: string): Promise<Obtained> {
    const checked = {
      ...checkAcquireOptions(options, this.#options, where, ['signal', 'ttl', 'within']),
      wait: 0,
    }
    try {
      return await this.#obtainShare(checked)
    } catch (error) {
      // Another branch of this very flow has it.
      if (error instanceof LockTimeoutError) return { holder: error.holder }
      throw error
    }
  }

  async #obtainShare(options: CheckedAcquireOptions): Promise<Obtained> {
    const { engine } = this.#context
    engine.assertOpen()
    if (options.signal?.aborted === true) throw options.signal.reason
    const outer = this.#outer(options.within)
    if (outer !== null) return { share: await this.#nest(outer, options) }
    const lease = await this.#lease(options)
    return 'holder' in lease ? lease : { share: Share.root(lease.lease) }
  }

  /** The hold of the same flow that this call nests in, if there is one. */
  #outer(within: Held | null): Share | null {
    const { key } = this.#addresses[this.#addresses.length - 1] as LockAddress
    if (within !== null) {
      const share = shareOf(within)
      checkWithin(within, share?.lease.address.key === key, this.name)
      within.assertHeld()
      return share ?? null
    }
    return this.#options.reentrant ? this.#context.reentry.around(key) : null
  }

  async #nest(outer: Share, { wait, signal, ttl }: CheckedAcquireOptions): Promise<Share> {
    const share = await nestIn(outer, { wait, signal, clock: this.#context.engine.clock })
    try {
      // Only a longer lease than the outer one's takes a round trip; a shorter one never cuts it.
      if (ttl > share.lease.ttl) await share.lease.extend(ttl)
      return share
    } catch (error) {
      share.end()
      throw error
    }
  }

  /** Takes the lock at every address, in order, all or none. */
  async #lease(options: CheckedAcquireOptions): Promise<{ lease: Lease } | { holder: string | null }> {
    const { clock } = this.#context.engine
    const deadline = clock.monotonic() + options.wait
    let taken: Lease | null = null
    try {
      for (const address of this.#addresses) {
        const left = options.wait === 0 ? 0 : Math.max(0, deadline - clock.monotonic())
        const next = await this.#grant(address, { ...options, wait: left })
        if ('holder' in next) {
          this.#giveBack(taken)
          return next
        }
        taken = taken === null ? next.lease : new LeasePair(taken, next.lease)
      }
    } catch (error) {
      this.#giveBack(taken)
      throw error
    }
    return { lease: taken as Lease }
  }

  #giveBack(lease: Lease | null): void {
    if (lease !== null) this.#context.engine.inBackground(lease.release().catch(() => undefined))
  }

  async #grant(
    address: LockAddress,
    options: CheckedAcquireOptions,
  ): Promise<{ lease: Lease } | { holder: string | null }> {
    const { engine } = this.#context
    const began = engine.clock.monotonic()
    const { renew, maxHold } = this.#options
    const wish: LockWish = { address, ttl: options.ttl, renew, maxHold, trace: engine.trace() }
    try {
      const granted = await (options.wait === 0
        ? this.#ask(wish, options.signal)
        : this.#await(wish, options))
      if (!(granted instanceof Object) || !('start' in granted)) return { holder: granted?.owner ?? null }
      if (engine.closed) {
        // Closed between the grant and this line.
        engine.settle(address, granted.owner, { unfinishedUntil: null, ttl: wish.ttl })
        engine.assertOpen()
      }
      granted.start()
      this.#tellAcquired(granted, began, wish)
      return { lease: granted }
    } catch (error) {
      if (options.wait > 0)
        this.#tellWaited(
          address,
          began,
          endOf(error),
          error instanceof LockTimeoutError ? error.holder : null,
        )
      throw error
    }
  }

  /** One ask, for those who do not wait. */
  #ask(wish: LockWish, signal: AbortSignal | null): Promise<GrantedLease | Holder | null> {
    const { engine } = this.#context
    return new Promise((resolve, reject) => {
      const acquisition = new Acquisition(engine, wish)
      const onAbort = (): void => {
        acquisition.abandon()
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      const manners = { join: false, stands: false, yield: false }
      const ended = acquisition.ask(manners, engine.clock.monotonic() + engine.budget).then((result) => {
        signal?.removeEventListener('abort', onAbort)
        if (signal?.aborted === true) return
        if (result.kind === 'granted') return resolve(result.lease)
        acquisition.abandon()
        if (result.kind === 'busy') resolve(result.holder)
        else reject(publicError(result, `Acquiring the lock ${JSON.stringify(this.name)}`))
      })
      ended.catch(reject)
    })
  }

  /** A place in the line of this process's waiters. */
  #await(wish: LockWish, { wait, signal }: CheckedAcquireOptions): Promise<GrantedLease> {
    const { engine } = this.#context
    return new Promise((resolve, reject) => {
      const finish = <A>(settle: (value: A) => void): ((value: A) => void) => {
        return (value) => {
          signal?.removeEventListener('abort', onAbort)
          settle(value)
        }
      }
      const onAbort = (): void => contention.cancel(waiter, signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      const contention = engine.contentionFor(wish.address)
      const waiter = contention.add({
        wish,
        deadline: engine.clock.monotonic() + wait,
        retry: this.#options.retry,
        resolve: finish(resolve),
        reject: finish(reject),
      })
    })
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

  #tellAcquired(lease: GrantedLease, began: number, { address, ttl, trace }: LockWish): void {
    const waited = this.#context.engine.clock.monotonic() - began
    if (events.acquired.hasSubscribers) {
      const { owner, fence } = lease
      events.acquired.publish({
        lock: this.name,
        key: address.key,
        owner,
        fence: String(fence),
        waited,
        ttl,
        trace,
      })
    }
    this.#tellWaited(address, began, 'acquired', null)
  }

  #tellWaited(
    { key }: LockAddress,
    began: number,
    outcome: HoldfastEvents['holdfast:lock:waited']['outcome'],
    holder: string | null,
  ): void {
    if (!events.waited.hasSubscribers) return
    events.waited.publish({
      lock: this.name,
      key,
      waited: this.#context.engine.clock.monotonic() - began,
      outcome,
      holder,
    })
  }
}

function endOf(error: unknown): HoldfastEvents['holdfast:lock:waited']['outcome'] {
  if (error instanceof LockTimeoutError) return 'timeout'
  const code = (error as { code?: unknown } | null)?.code
  if (code === 'CLOSED') return 'closed'
  return code === 'STORE_UNAVAILABLE' || code === 'STORE_REFUSED' ? 'failed' : 'aborted'
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

/** Lets our error ride along with the user's own, which is never replaced. Primitives and frozen objects cannot carry it. */
function attach(error: unknown, ours: Error): void {
  if (typeof error !== 'object' || error === null || error === ours || !Object.isExtensible(error)) return
  Object.defineProperty(error, 'holdfast', {
    value: ours,
    enumerable: false,
    configurable: true,
    writable: true,
  })
}
