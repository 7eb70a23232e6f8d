import type { LockAddress } from '../name.ts'
import { publicError } from '../store/failure.ts'
import { Acquisition, NO_MANNERS, type AskResult, type LockWish } from './acquisition.ts'
import type { LockEngine } from './engine.ts'
import type { GrantedLease } from './granted-lease.ts'
import { shareOf, type Held } from './held.ts'
import type { Lease } from './lease.ts'
import { LeasePair } from './lease-pair.ts'
import { checkWithin, type CheckedAcquireOptions, type CheckedLockOptions } from './options.ts'
import { nestIn, type Reentry } from './reentry.ts'
import { Share } from './share.ts'
import { Waiter, type Leased } from './waiter.ts'

/** What every lock of a Holdfast instance is made with. */
export interface LockContext {
  readonly engine: LockEngine
  readonly reentry: Reentry
  /** The prefix in use, and before it the old one while it changes. The old one is always taken first. */
  readonly prefixes: readonly [string, ...string[]]
}

/** A share of the lock, or who has it: busy is a value here, an error only after a wait. */
export type Obtained =
  | { readonly share: Share }
  /** `waited`: milliseconds. */
  | { readonly holder: string | null; readonly waited: number }

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

  /** Waits up to `options.wait`; 0 asks once. Fails as `Lock.acquire` does. */
  obtain(
    options: CheckedAcquireOptions,
    resolve: (obtained: Obtained) => void,
    reject: (error: unknown) => void,
  ): void {
    if (options.within !== null || this.#options.reentrant || this.#addresses.length > 1) {
      this.#obtainInTurns(options).then(resolve, reject)
      return
    }
    // As nearly always: nothing but one ask or one place in line.
    const { engine } = this.#context
    engine.assertOpen()
    if (options.signal?.aborted === true) throw options.signal.reason
    const [address] = this.#addresses as [LockAddress]
    this.#ask(address, options, (leased) => resolve(this.#share(leased)), reject)
  }

  async #obtainInTurns(options: CheckedAcquireOptions): Promise<Obtained> {
    const { engine } = this.#context
    const { clock } = engine
    const until = clock.monotonic() + options.wait
    for (;;) {
      engine.assertOpen()
      if (options.signal?.aborted === true) throw options.signal.reason
      const outer = this.#outer(options.within)
      const left = Math.max(0, until - clock.monotonic())
      if (outer === null) return this.#share(await this.#lease({ ...options, wait: left }))
      const share = await this.#nest(outer, options, left)
      if (share !== null) return { share }
    }
  }

  #share(leased: Leased): Obtained {
    return 'holder' in leased ? leased : { share: Share.root(leased.lease, this.#context.engine) }
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
  async #nest(outer: Share, { signal, ttl }: CheckedAcquireOptions, wait: number): Promise<Share | null> {
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

  #lease(terms: AskTerms): Promise<Leased> {
    const [address] = this.#addresses as [LockAddress, ...LockAddress[]]
    return this.#addresses.length === 1 ? this.#grant(address, terms) : this.#leaseAll(terms)
  }

  /** Takes the lock at every address, in order, all or none. */
  async #leaseAll({ ttl, wait, signal }: AskTerms): Promise<Leased> {
    const { engine } = this.#context
    const { clock } = engine
    const deadline = clock.monotonic() + wait
    let taken: Lease | null = null
    try {
      for (const address of this.#addresses) {
        // Between two halves nobody hears of these.
        engine.assertOpen()
        if (signal?.aborted === true) throw signal.reason
        const left = wait === 0 ? 0 : Math.max(0, deadline - clock.monotonic())
        const next = await this.#grant(address, { ttl, wait: left, signal })
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

  #grant(address: LockAddress, terms: AskTerms): Promise<Leased<GrantedLease>> {
    return new Promise((resolve, reject) => this.#ask(address, terms, resolve, reject))
  }

  /** Takes the lock at one address: by one ask, or by a place in the line of this process's waiters. */
  #ask(
    address: LockAddress,
    { ttl, wait, signal, group }: AskTerms,
    resolve: (leased: Leased<GrantedLease>) => void,
    reject: (error: unknown) => void,
  ): void {
    const { engine } = this.#context
    const { renew, maxHold, handOver, retry } = this.#options
    // Before the entry is looked up: it is the caller's own code.
    const trace = engine.trace()
    const entry = engine.table.at(address.key)
    const wish: LockWish = { address, entry, ttl, renew, maxHold, handOver, trace, group }
    const contention = wait === 0 ? null : engine.contentionFor(entry)
    const line = contention ?? ASKS_ONCE
    const waiter = new Waiter(engine, { wish, wait, retry, signal, line, resolve, reject })
    if (contention === null) askOnce(engine, waiter)
    else contention.add(waiter)
  }
}

/** What one ask is made with. Times in milliseconds. */
type AskTerms = Pick<CheckedAcquireOptions, 'ttl' | 'wait' | 'signal' | 'group'>

/** Where those stand who stand in no line. */
const ASKS_ONCE = { cancel: cancelAsk }

/** One ask, for those who do not wait. */
function askOnce(engine: LockEngine, waiter: Waiter): void {
  const { address, entry } = waiter.wish
  const acquisition = new Acquisition(engine, waiter.wish)
  waiter.acquisition = acquisition
  entry.asking.push(waiter)
  const heard = (result: AskResult): void => {
    if (result.kind === 'granted') {
      waiter.acquisition = null
      waiter.grant(result.lease)
    } else if (result.kind === 'busy') {
      waiter.refuse(result.holder?.owner ?? null)
    } else {
      waiter.fail(publicError(result, `Acquiring the lock ${JSON.stringify(address.name)}`))
    }
  }
  acquisition.start(NO_MANNERS, waiter.deadline + engine.budget, 0, { heard }, waiter.since)
}

function cancelAsk(waiter: Waiter, reason: unknown): void {
  if (!waiter.settled) waiter.fail(reason)
}
