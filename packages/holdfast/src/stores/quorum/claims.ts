import type { AcquireAsk } from '../../store/contract.ts'
import { Claim } from './claim.ts'

/** Claims looked at, and cleared away when they are over, for each one that is made. */
const SWEPT_PER_CLAIM = 2

/** What this process asked for and has not seen the end of, by owner. Those that nobody gives back go when they are over. */
export class Claims {
  readonly #claims = new Map<string, Claim>()
  #sweep = this.#claims.values()

  get size(): number {
    return this.#claims.size
  }

  get(owner: string): Claim | null {
    return this.#claims.get(owner) ?? null
  }

  /** @param now monotonic milliseconds */
  make(ask: AcquireAsk, nodes: number, now: number): Claim {
    const claim = new Claim(ask, nodes)
    this.#claims.set(ask.owner, claim)
    for (let i = 0; i < SWEPT_PER_CLAIM; i += 1) {
      const next = this.#sweep.next()
      // The iterators of a Map stay valid while it changes: a sweep goes on where the last one ended.
      if (next.done === true) this.#sweep = this.#claims.values()
      else if (next.value.over < now && next.value !== claim) this.#claims.delete(next.value.owner)
    }
    return claim
  }

  drop({ owner }: Claim): void {
    this.#claims.delete(owner)
  }
}
