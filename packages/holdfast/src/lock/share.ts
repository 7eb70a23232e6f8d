import type { Lease } from './lease.ts'

/**
 * One caller's share of a lease. The first caller has the root; a nested call of the same flow has a child of its caller's
 * share. A share has at most one living child: two branches of one flow are not the same holder, so the second waits for the
 * first. The lease is given back when the last share ends.
 */
export class Share {
  readonly lease: Lease
  /** What made it: holds of two Holdfast instances are strangers, whatever their names. */
  readonly instance: object
  readonly #root: Share
  /** Living shares of the lease; kept by the root. */
  #count = 0
  #child: Share | null = null
  readonly #parent: Share | null
  #line: (() => void)[] | null = null
  #ended = false

  private constructor(lease: Lease, instance: object, parent: Share | null) {
    this.lease = lease
    this.instance = instance
    this.#parent = parent
    this.#root = parent === null ? this : parent.#root
    this.#root.#count += 1
  }

  static root(lease: Lease, instance: object): Share {
    return new Share(lease, instance, null)
  }

  /** Whether a nested call may still build on it. */
  get alive(): boolean {
    return !this.#ended && this.lease.lost === null && !this.lease.released
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Whether a child can be had now. */
  get free(): boolean {
    return this.#child === null
  }

  /** A child, when {@link free}. */
  nest(): Share {
    if (this.#child !== null) throw new Error('a share has one living child')
    this.#child = new Share(this.lease, this.instance, this)
    return this.#child
  }

  /** Calls `turn` once when a child can be had, or when this share has ended; the returned function leaves the line. */
  waitForTurn(turn: () => void): () => void {
    const line = (this.#line ??= [])
    line.push(turn)
    return () => {
      const place = line.indexOf(turn)
      if (place !== -1) line.splice(place, 1)
    }
  }

  /** Ends this share; true when it was the last of its lease. Ending it twice changes nothing. */
  end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#root.#count -= 1
    for (const turn of this.#line?.splice(0) ?? []) turn()
    const parent = this.#parent
    if (parent !== null) {
      parent.#child = null
      parent.#line?.shift()?.()
    }
    return this.#root.#count === 0
  }
}
