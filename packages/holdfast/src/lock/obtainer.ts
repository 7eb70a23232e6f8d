import { ClosedError, LockTimeoutError } from '../errors.ts'
import { events, type HoldfastEvents } from '../events/channels.ts'
import type { LockAddress } from '../name.ts'
import { publicError } from '../store/failure.ts'
import { Acquisition, type LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'
import { shareOf, type Held } from './held.ts'
import type { Lease } from './lease.ts'
import { LeasePair } from './lease-pair.ts'
import { checkWithin, type CheckedAcquireOptions, type CheckedLockOptions } from './options.ts'
import { nestIn, type Reentry } from './reentry.ts'
import { Share } from './share.ts'

/** What every lock of a Holdfast instance is made with. */
export interface LockContext {
  readonly engine: LockEngine
  readonly reentry: Reentry
  /** The prefix in use, and before it the old one while it changes. The old one is always taken first. */
  readonly prefixes: readonly [string, ...string[]]
}

/** A share of the lock, or who has it: busy is a value here, an error only after a wait. */
export type Obtained = { readonly share: Share } | { readonly holder: string | null }

type Leased<L = Lease> = { readonly lease: L } | { readonly holder: string | null }

/** How a lock is got: by nesting in a hold of the same flow, by one ask, or by a place in line. */
export class Obtainer {
  readonly #context: LockContext
  readonly #name: string
  readonly #options: CheckedLockOptions
  readonly #addresses: readonly LockAddress[]

  constructor(
    context: LockContext,
    name: string,
    options: CheckedLockOptions,
    addresses: readonly LockAddress[],
  ) {
    this.#context = context
    this.#name = name
    this.#options = options
    this.#addresses = addresses
  }

  /** Waits up to `options.wait`; 0 asks once. Rejects as `Lock.acquire` does. */
  async obtain(options: CheckedAcquireOptions): Promise<Obtained> {
    const { engine } = this.#context
    const until = engine.clock.monotonic() + options.wait
    for (;;) {
      engine.assertOpen()
      if (options.signal?.aborted === true) throw options.signal.reason
      const left = Math.max(0, until - engine.clock.monotonic())
      const outer = this.#outer(options.within)
      if (outer === null) return this.#obtainRoot({ ...options, wait: left })
      const share = await this.#nest(outer, { ...options, wait: left })
      if (share !== null) return { share }
    }
  }

  async #obtainRoot(options: CheckedAcquireOptions): Promise<Obtained> {
    const lease = await this.#lease(options)
    return 'holder' in lease ? lease : { share: Share.root(lease.lease, this.#context.engine) }
  }

  /** The hold of the same flow that this call nests in, if there is one. */
  #outer(within: Held | null): Share | null {
    const { key } = this.#addresses[this.#addresses.length - 1] as LockAddress
    if (within !== null) {
      const share = shareOf(within)
      const isOurs = share?.instance === this.#context.engine && share.lease.address.key === key
      checkWithin(within, isOurs, this.#name)
      within.assertHeld()
      return share ?? null
    }
    return this.#options.reentrant ? this.#context.reentry.around(key) : null
  }

  /** A share of `outer`; `null` when that ended or was lost while we waited for our turn. */
  async #nest(outer: Share, { wait, signal, ttl }: CheckedAcquireOptions): Promise<Share | null> {
    const share = await nestIn(outer, { wait, signal, clock: this.#context.engine.clock })
    if (share === null) return null
    try {
      // Only a longer lease than the outer one's takes a round trip; a shorter one never cuts it.
      if (ttl > share.lease.ttl) await share.lease.extend(ttl)
    } catch (error) {
      this.#leave(share)
      throw error
    }
    if (outer.alive) return share
    this.#leave(share)
    return null
  }

  /** Ends a share that nobody gets. The others may have ended meanwhile, and then it is the last one. */
  #leave(share: Share): void {
    if (share.end()) this.#giveBack(share.lease)
  }

  /** Takes the lock at every address, in order, all or none. */
  async #lease(options: CheckedAcquireOptions): Promise<Leased> {
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

  async #grant(address: LockAddress, options: CheckedAcquireOptions): Promise<Leased> {
    const { engine } = this.#context
    const began = engine.clock.monotonic()
    const { renew, maxHold } = this.#options
    const wish: LockWish = { address, ttl: options.ttl, renew, maxHold, trace: engine.trace() }
    engine.acquires(1)
    try {
      const granted = await (options.wait === 0
        ? this.#ask(wish, options.signal)
        : this.#await(wish, options))
      if ('holder' in granted) return granted
      const { lease } = granted
      if (engine.closed) {
        // Closed between the grant and this line.
        lease.disown()
        engine.assertOpen()
      }
      lease.start()
      this.#tellAcquired(lease, began, wish)
      return { lease }
    } catch (error) {
      const holder = error instanceof LockTimeoutError ? error.holder : null
      if (options.wait > 0) this.#tellWaited(address, began, endOf(error), holder)
      throw error
    } finally {
      engine.acquires(-1)
    }
  }

  /** One ask, for those who do not wait. */
  #ask(wish: LockWish, signal: AbortSignal | null): Promise<Leased<GrantedLease>> {
    const { engine } = this.#context
    return new Promise((resolve, reject) => {
      const acquisition = new Acquisition(engine, wish)
      let cancelled = false
      const cancel = (reason: unknown): void => {
        cancelled = true
        acquisition.abandon()
        forget()
        reject(reason)
      }
      const onAbort = (): void => cancel(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      const stopWatching = engine.whenClosed(() => cancel(new ClosedError()))
      const forget = (): void => {
        signal?.removeEventListener('abort', onAbort)
        stopWatching()
      }
      const manners = { join: false, stands: false, yield: false }
      const ended = acquisition.ask(manners, engine.clock.monotonic() + engine.budget).then((result) => {
        forget()
        if (cancelled) {
          // Granted in the very moment in which it was cancelled.
          if (result.kind === 'granted') result.lease.disown()
          return
        }
        if (result.kind === 'granted') return resolve({ lease: result.lease })
        acquisition.abandon()
        if (result.kind === 'busy') resolve({ holder: result.holder?.owner ?? null })
        else reject(publicError(result, `Acquiring the lock ${JSON.stringify(this.#name)}`))
      })
      ended.catch(reject)
    })
  }

  /** A place in the line of this process's waiters. */
  #await(wish: LockWish, { wait, signal }: CheckedAcquireOptions): Promise<Leased<GrantedLease>> {
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
        resolve: finish((lease: GrantedLease) => resolve({ lease })),
        reject: finish(reject),
      })
    })
  }

  #tellAcquired(lease: GrantedLease, began: number, { address, ttl, trace }: LockWish): void {
    const waited = this.#context.engine.clock.monotonic() - began
    if (events.acquired.hasSubscribers) {
      const { owner, fence } = lease
      events.acquired.publish({
        lock: this.#name,
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
      lock: this.#name,
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
