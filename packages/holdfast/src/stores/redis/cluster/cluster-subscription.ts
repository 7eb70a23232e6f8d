import type { Clock, Timer } from '../../../clock.ts'
import type { RedisPort, Subscription } from '../port.ts'
import type { ClusterNode, ClusterNodes } from './nodes.ts'

/** Between two looks whether there is a node, in milliseconds. */
const LOOK_AGAIN = 100

/** A subscription at some node of a cluster, and at another when that one has no slots any more: it may be gone. */
export class ClusterSubscription implements Subscription {
  readonly #nodes: ClusterNodes
  readonly #clock: Clock
  readonly #subscribe: (port: RedisPort) => Subscription
  #at: { readonly node: ClusterNode; readonly subscription: Subscription } | null = null
  readonly #stopWatching: () => void
  #timer: Timer | null = null
  #closed = false

  constructor(nodes: ClusterNodes, clock: Clock, subscribe: (port: RedisPort) => Subscription) {
    this.#nodes = nodes
    this.#clock = clock
    this.#subscribe = subscribe
    this.#stopWatching = nodes.onChange(() => this.#settle())
    this.#settle()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopWatching()
    this.#timer?.cancel()
    const at = this.#at
    this.#at = null
    await at?.subscription.close()
  }

  #settle(): void {
    if (this.#closed) return
    const owners = this.#nodes.owners()
    if (this.#at !== null && owners.includes(this.#at.node)) return
    // A node that answers; where none does, one that may.
    const node = owners.find(({ port }) => port.ready) ?? owners[0]
    if (node === undefined) return this.#settleLater()
    void this.#at?.subscription.close()
    this.#at = { node, subscription: this.#subscribe(node.port) }
  }

  /** Nobody has said yet where the slots lie. */
  #settleLater(): void {
    this.#nodes.refresh()
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = null
      this.#settle()
    }, LOOK_AGAIN)
  }
}
