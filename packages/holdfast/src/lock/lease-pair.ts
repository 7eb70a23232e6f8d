import { LockLostError, type LossReason } from '../errors.ts'
import type { LockAddress } from '../name.ts'
import type { StoreTraits } from '../store/contract.ts'
import type { Lease, ReleaseOutcome } from './lease.ts'
import { LossSignal } from './loss-signal.ts'

/**
 * A lock under two prefixes at once, while a prefix changes in a rolling deployment: held while both are, lost with either,
 * whereupon the other half is given back. The old one is always taken first, so that two such holders cannot block each other.
 *
 * Its fence is the higher of the two. Fences of either prefix rise, so the higher of both rises too.
 */
export class LeasePair implements Lease {
  readonly #old: Lease
  readonly #new: Lease
  #signal: LossSignal | null = null

  constructor(oldLease: Lease, newLease: Lease) {
    this.#old = oldLease
    this.#new = newLease
    oldLease.signal.addEventListener('abort', () => this.#endWith(oldLease, newLease))
    newLease.signal.addEventListener('abort', () => this.#endWith(newLease, oldLease))
  }

  get address(): LockAddress {
    return this.#new.address
  }

  get owner(): string {
    return this.#new.owner
  }

  get fence(): bigint {
    return this.#old.fence > this.#new.fence ? this.#old.fence : this.#new.fence
  }

  get fences(): StoreTraits['fences'] {
    return this.#new.fences
  }

  get ttl(): number {
    return Math.min(this.#old.ttl, this.#new.ttl)
  }

  get lost(): LossReason | null {
    return this.#new.lost ?? this.#old.lost
  }

  get released(): boolean {
    return this.#new.released
  }

  get signal(): AbortSignal {
    if (this.#signal === null) {
      this.#signal = new LossSignal(() => this.#check())
      this.#check()
    }
    return this.#signal.signal
  }

  remaining(): number {
    return Math.min(this.#old.remaining(), this.#new.remaining())
  }

  async extend(ttl: number): Promise<void> {
    await Promise.all([this.#old.extend(ttl), this.#new.extend(ttl)])
  }

  /** The new one first: whoever is let in by the old one then finds both free. */
  async release(): Promise<ReleaseOutcome> {
    const [newer, older] = await Promise.allSettled([this.#new.release(), this.#old.release()])
    if (newer.status === 'rejected') throw newer.reason
    if (older.status === 'rejected') throw older.reason
    if (!newer.value.released) return newer.value
    if (!older.value.released) return older.value
    return { released: true, confirmed: newer.value.confirmed && older.value.confirmed }
  }

  /** Half a lock is none: nobody else would get it while its other half is renewed. */
  #endWith(half: Lease, other: Lease): void {
    if (half.lost !== null) other.release().catch(() => undefined)
    this.#signal?.abort(half.signal.reason as LockLostError)
  }

  #check(): void {
    const { lost } = this
    if (lost !== null) this.#signal?.abort(new LockLostError(this.address.name, lost))
  }
}
