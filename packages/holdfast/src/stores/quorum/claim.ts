import type { Instant } from '../../clock.ts'
import type { LockAddress } from '../../name.ts'
import type { AcquireAsk, AcquireResult, Answer } from '../../store/contract.ts'
import { Standing } from './standing.ts'

/** One owner of a lock on all nodes, from its first ask until nothing of it can be anywhere any more. */
export class Claim {
  readonly address: LockAddress
  readonly owner: string
  readonly trace: string | null
  readonly standings: readonly Standing[]
  /** The lock's fence; `null` until it is granted. */
  fence: bigint | null = null
  /** The round that asks for it; another ask of the same owner shares its answer. */
  asking: Promise<Answer<AcquireResult>> | null = null
  /** When that round, or the last one, began. */
  askedAt: Instant | null = null
  /** Whether it was released, or is taken back: it is never asked for again. */
  spent = false
  /** Monotonic milliseconds after which no node can have a key of it any more. */
  over = -Infinity

  constructor({ address, owner, trace }: AcquireAsk, nodes: number) {
    this.address = address
    this.owner = owner
    this.trace = trace
    this.standings = Array.from({ length: nodes }, () => new Standing())
  }

  get members(): number {
    return this.standings.filter(({ state }) => state === 'member').length
  }
}
