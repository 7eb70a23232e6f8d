import type { Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { LockStore, ServerIdentity } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import { NodeAttempt } from './node-attempt.ts'

/** The reason of a failure by which two nodes were found not to be independent. */
export const NOT_APART = 'not-independent'

/**
 * Sees to it that each node is a server of its own: before a node has a say for the first time, it is asked who it is. Costs a
 * round trip once for each node, and none where the nodes' stores cannot tell.
 */
export class Identities {
  readonly #clock: Clock
  readonly #nodes: readonly LockStore[]
  readonly #verified: boolean[]
  readonly #known: { readonly node: number; readonly identity: ServerIdentity }[] = []
  #begun = false
  #fault: StoreFailure | null = null

  constructor(clock: Clock, nodes: readonly LockStore[]) {
    this.#clock = clock
    this.#nodes = nodes
    this.#verified = nodes.map((node) => node.identify === undefined)
  }

  /** Whether all nodes that have a say from now on were asked, as far as they answered. */
  get begun(): boolean {
    return this.#begun || this.#verified.every((verified) => verified)
  }

  /** Whether this node has told who it is, or cannot. */
  isVerified(node: number): boolean {
    return this.#verified[node] === true
  }

  /** @throws StoreFailure when two nodes were found to be one server */
  assertApart(): void {
    if (this.#fault !== null) throw this.#fault
  }

  /**
   * Asks all nodes, at first use: two that are one are found before either is counted. Settles when all have answered, or at
   * `until` (monotonic milliseconds).
   */
  async begin(until: number): Promise<void> {
    const unknown = [...this.#nodes.keys()].filter((node) => !this.isVerified(node))
    const asked = Promise.allSettled(unknown.map((node) => this.verify(node, until)))
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimer(resolve, until - this.#clock.monotonic())
      void asked.then(() => {
        timer.cancel()
        resolve()
      })
    })
    this.#begun = true
    this.assertApart()
  }

  /**
   * Asks one node.
   *
   * @throws StoreFailure when it does not answer, or is one that is there already
   */
  async verify(node: number, until: number): Promise<void> {
    const identity = await this.#nodes[node]?.identify?.(new NodeAttempt(null, until))
    if (!this.isVerified(node)) {
      if (identity !== undefined && identity !== null) this.#check(node, identity)
      this.#verified[node] = true
    }
    this.assertApart()
  }

  #check(node: number, identity: ServerIdentity): void {
    const { server, copies, dependent } = identity
    const twin = this.#known.find(
      (known) => known.identity.server === server || (copies !== null && known.identity.copies === copies),
    )
    if (dependent !== null) this.#fault ??= notApart(`node ${node}`, dependent)
    else if (twin !== undefined) {
      const problem = twin.identity.server === server ? 'are one server' : 'hold copies of the same data'
      // In their order, whichever of them answered first.
      const [one, other] = [Math.min(twin.node, node), Math.max(twin.node, node)]
      this.#fault ??= notApart(`nodes ${one} and ${other}`, problem)
    }
    this.#known.push({ node, identity })
  }
}

function notApart(which: string, problem: string): StoreFailure {
  const cause = new InvalidArgumentError('stores', which, {
    problem,
    remedy: 'Give servers that fail independently of each other, each once.',
  })
  return new StoreFailure(cause.message, {
    kind: 'refused',
    outcome: 'not-done',
    final: true,
    reason: NOT_APART,
    cause,
  })
}
