import { bounds } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { LockLostError, type LossReason } from '../errors.ts'
import type { StoreTraits } from '../store/contract.ts'
import { NOT_ASKED, type ReleaseOutcome } from './lease.ts'
import type { Share } from './share.ts'

/** Where {@link shareOf} finds a share. A symbol, so that callers do not. */
const SHARE = Symbol('holdfast.share')

/** The share behind a held lock. Not for callers. */
export function shareOf(held: Held): Share {
  return held[SHARE]
}

/**
 * A lock that is held. It tells the truth about itself at any time without asking anybody: `lost`, `signal.aborted`,
 * `remaining()` and `assertHeld()` compute from this machine's clocks when they are read.
 */
export class Held implements AsyncDisposable {
  readonly #share: Share
  /** Whether this handle was the last share, and so gave the lock itself back. */
  #givesBack = false

  constructor(share: Share) {
    this.#share = share
  }

  get [SHARE](): Share {
    return this.#share
  }

  /** The lock's name, as the caller gave it. */
  get name(): string {
    return this.#share.lease.address.name
  }

  /** Who holds it, as it stands on the store: 22 unique characters, `@`, host, `:`, pid. */
  get owner(): string {
    return this.#share.lease.owner
  }

  /**
   * The fencing token: greater than that of every earlier grant of this name. Hand it to the resource, which must refuse lower
   * ones. A nested hold has its outer hold's fence.
   */
  get fence(): bigint {
    return this.#share.lease.fence
  }

  /**
   * What its store promises about the order of fences. `strict`: they rise whatever happens; `clocked`: they rise while the
   * servers' clocks agree; `none`: nothing, and every guard refuses this hold.
   */
  get fences(): StoreTraits['fences'] {
    return this.#share.lease.fences
  }

  /** Aborts when the lock is lost, with a {@link LockLostError} as its reason. Created when first read. */
  get signal(): AbortSignal {
    return this.#share.lease.signal
  }

  /** Why the lock is lost; `null` while it is not, and after it was given back in time. */
  get lost(): LossReason | null {
    return this.#share.lease.lost
  }

  /** Milliseconds until the lock must be taken for lost if no renewal succeeds; 0 when it is lost or given back. */
  remaining(): number {
    return this.#share.ended ? 0 : this.#share.lease.remaining()
  }

  /**
   * Throws when the lock is not held. Makes no round trip: true as of this line, by the local deadline. What is done after it
   * can still come too late; a fence at the resource is what refuses it then.
   *
   * @throws LockLostError
   */
  assertHeld(): void {
    const { lease, ended } = this.#share
    const reason = lease.lost ?? (ended || lease.released ? 'released' : null)
    if (reason !== null) throw new LockLostError(this.name, reason)
  }

  /**
   * Makes at least `ttl` be left, now; never less than before. One round trip.
   *
   * @throws InvalidArgumentError, LockLostError, StoreUnavailableError or StoreRefusedError (the lock is held as before)
   */
  async extend(ttl: Duration): Promise<void> {
    const ms = parseDuration(ttl, 'ttl', { min: bounds.minTtl, max: bounds.maxTtl })
    if (this.#share.ended) throw new LockLostError(this.name, 'released')
    await this.#share.lease.extend(ms)
  }

  /**
   * Gives the lock back. One round trip; none when it is lost already, when it goes to the next caller of this process, or when another
   * hold of the same flow goes on: that is told without being confirmed.
   * Renewal has stopped before anything is sent. When the answer was lost, a second call finds out; calling it again is safe.
   *
   * @returns whether it was released, or why it was not ours any more
   * @throws StoreUnavailableError or StoreRefusedError when the store failed; the key then ends by its expiry, at the latest.
   *   ClosedError when it was left to expire by `close({ release: false })`
   */
  release(): Promise<ReleaseOutcome> {
    if (this.#share.end()) this.#givesBack = true
    const { lease } = this.#share
    if (this.#givesBack) return lease.release()
    const { lost } = lease
    return Promise.resolve(lost === null ? NOT_ASKED : { released: false, reason: lost })
  }

  /** Gives the lock back and never throws: a loss is told by event and by `lost`, a failure by event. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined)
  }

  toJSON(): { name: string; owner: string; fence: string; remaining: number; lost: LossReason | null } {
    const { name, owner, fence, lost } = this
    return { name, owner, fence: String(fence), remaining: this.remaining(), lost }
  }
}
