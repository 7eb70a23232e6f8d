import { bounds } from '../defaults.ts'
import { parseDuration, type Duration } from '../duration.ts'
import { LockLostError, type LossReason } from '../errors.ts'
import type { Lease, ReleaseOutcome } from './lease.ts'
import { LossSignal } from './loss-signal.ts'

/** A lease of each of several names, or of as many as were had so far. */
export type NamedLease = readonly [name: string, lease: Lease]

/**
 * Several locks that are held at once: all of them, or none. It is lost with the first that is lost, and the others are then given
 * back. As with {@link Held}, `lost`, `signal.aborted`, `remaining()` and `assertHeld()` compute when they are read.
 */
export class HeldAll implements AsyncDisposable {
  /** The names, in the order in which they were given. */
  readonly names: readonly string[]
  /** The fencing token of each name, by the name. Hand each to its own resource. */
  readonly fences: Readonly<Record<string, bigint>>
  readonly #leases: readonly NamedLease[]
  #loss: { readonly name: string; readonly reason: LossReason } | null = null
  #released = false
  #signal: LossSignal | null = null

  /** Made by `lockAll`. */
  constructor(names: readonly string[], leases: readonly NamedLease[]) {
    this.names = names
    this.#leases = leases
    const fences = Object.create(null) as Record<string, bigint>
    const byName = new Map(leases)
    for (const name of names) fences[name] = byName.get(name)?.fence ?? 0n
    this.fences = Object.freeze(fences)
    for (const [, lease] of leases) lease.signal.addEventListener('abort', () => this.#check())
  }

  /** Which name was lost; all of them while none is. For messages. */
  get name(): string {
    return this.#lost()?.name ?? this.names.join(', ')
  }

  /** Aborts when one of the locks is lost, with a {@link LockLostError} that names it. Created when first read. */
  get signal(): AbortSignal {
    if (this.#signal === null) {
      this.#signal = new LossSignal(() => this.#check())
      this.#check()
    }
    return this.#signal.signal
  }

  /** Why the first of them was lost; `null` while all are held, and after they were given back in time. */
  get lost(): LossReason | null {
    return this.#lost()?.reason ?? null
  }

  /** Milliseconds until the first of them must be taken for lost if no renewal succeeds; 0 when lost or given back. */
  remaining(): number {
    if (this.#released || this.#lost() !== null) return 0
    return Math.min(...this.#leases.map(([, lease]) => lease.remaining()))
  }

  /**
   * Throws when they are not all held. Makes no round trip.
   *
   * @throws LockLostError that names the lock
   */
  assertHeld(): void {
    const lost = this.#lost()
    if (lost !== null) throw new LockLostError(lost.name, lost.reason)
    if (this.#released) throw new LockLostError(this.name, 'released')
  }

  /**
   * Makes at least `ttl` be left of each. As many round trips as it takes for one, where the store answers many at once.
   *
   * @throws InvalidArgumentError, LockLostError, StoreUnavailableError or StoreRefusedError (all are held as before, some longer)
   */
  async extend(ttl: Duration): Promise<void> {
    const ms = parseDuration(ttl, 'ttl', { min: bounds.minTtl, max: bounds.maxTtl })
    this.assertHeld()
    await Promise.all(this.#leases.map(([, lease]) => lease.extend(ms)))
  }

  /**
   * Gives all of them back, those that were taken last first. Calling it again is safe.
   *
   * @returns whether all were released, or why one was not ours any more; the others are released all the same
   * @throws StoreUnavailableError or StoreRefusedError when the store failed for one; that ends by its expiry, at the latest
   */
  async release(): Promise<ReleaseOutcome> {
    const lost = this.#lost()
    this.#released = true
    const settled = await Promise.allSettled(this.#leases.toReversed().map(([, lease]) => lease.release()))
    if (lost !== null) return { released: false, reason: lost.reason }
    let confirmed = true
    for (const [i, outcome] of settled.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason
      if (!outcome.value.released) {
        const [name = ''] = this.#leases[this.#leases.length - 1 - i] ?? []
        this.#loss ??= { name, reason: outcome.value.reason }
        return outcome.value
      }
      confirmed &&= outcome.value.confirmed
    }
    return { released: true, confirmed }
  }

  /** Gives all of them back and never throws. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined)
  }

  toJSON(): {
    names: readonly string[]
    fences: Record<string, string>
    remaining: number
    lost: LossReason | null
  } {
    const fences = Object.fromEntries(this.names.map((name) => [name, String(this.fences[name])]))
    return { names: this.names, fences, remaining: this.remaining(), lost: this.lost }
  }

  /** The first loss that was seen, of a name that was not given back. */
  #lost(): { readonly name: string; readonly reason: LossReason } | null {
    if (this.#loss !== null) return this.#loss
    for (const [name, { lost: reason }] of this.#leases) {
      if (reason === null) continue
      this.#loss = { name, reason }
      // Part of it is nothing: nobody else would get the others while they are renewed.
      if (!this.#released) for (const [, lease] of this.#leases) lease.release().catch(() => undefined)
      return this.#loss
    }
    return null
  }

  #check(): void {
    const lost = this.#lost()
    if (lost !== null) this.#signal?.abort(new LockLostError(lost.name, lost.reason))
  }
}
