import type { Clock, Timer } from '../../../clock.ts'
import { bounds } from '../../../defaults.ts'
import type { NameChannels, NameListener } from '../link.ts'
import type { ClusterClient, ShardConnection } from './client.ts'
import type { ClusterNode, ClusterNodes } from './nodes.ts'
import { slotOf } from './slot.ts'

/** A name that is not waited for any more, or was not asked for again for so long, is let go of; in milliseconds. */
const FORGOTTEN_AFTER = 30_000

interface Followed {
  readonly slot: number
  /** The lock's. */
  readonly key: string
  /** Monotonic milliseconds of the last {@link ShardedWakes.follow}. */
  seen: number
  /** Whether nobody waits any more; it is kept for a moment, since names are often waited for again. */
  over: boolean
  /** The node that it is subscribed at. */
  at: ClusterNode | null
}

interface Ears {
  readonly connection: ShardConnection
  readonly channels: Set<string>
  ready: boolean
}

/**
 * Sharded subscriptions (Redis 7), one for each name that is waited for, at the node that has its slot; one connection for each
 * node at which there are any. All of it is a hint: who publishes where nobody hears it does so again by a channel that all nodes
 * pass on, so a subscription that is missing or late costs the cluster a broadcast, and no wake-up.
 */
export class ShardedWakes implements NameChannels {
  readonly #nodes: ClusterNodes
  readonly #client: ClusterClient
  readonly #clock: Clock
  readonly #listener: NameListener
  readonly #followed = new Map<string, Followed>()
  readonly #ears = new Map<ClusterNode, Ears>()
  readonly #stopWatching: () => void
  #timer: Timer | null = null
  #closed = false

  constructor(nodes: ClusterNodes, client: ClusterClient, clock: Clock, listener: NameListener) {
    this.#nodes = nodes
    this.#client = client
    this.#clock = clock
    this.#listener = listener
    this.#stopWatching = nodes.onChange(() => {
      for (const [channel, followed] of this.#followed) this.#settle(channel, followed)
    })
  }

  /** Hears of a channel. Called again with every ask of who waits, so that what was lost is begun anew. */
  follow(channel: string, key: string): void {
    if (this.#closed) return
    let followed = this.#followed.get(channel)
    if (followed === undefined) {
      followed = { slot: slotOf(channel), key, seen: 0, over: false, at: null }
      this.#followed.set(channel, followed)
    }
    followed.seen = this.#clock.monotonic()
    followed.over = false
    this.#settle(channel, followed)
    this.#sweepLater()
  }

  /** Nobody waits for it any more. */
  unfollow(channel: string): void {
    const followed = this.#followed.get(channel)
    if (followed === undefined) return
    followed.over = true
    this.#sweepLater()
  }

  close(): void {
    this.#closed = true
    this.#stopWatching()
    this.#timer?.cancel()
    this.#followed.clear()
    for (const { connection } of this.#ears.values()) connection.close()
    this.#ears.clear()
  }

  /** Sees to it that a channel is subscribed at the node that has its slot now. */
  #settle(channel: string, followed: Followed): void {
    const node = this.#nodes.ownerOf(followed.slot)
    if (node === null || node === followed.at) return
    this.#leave(channel, followed)
    followed.at = node
    const ears = this.#earsAt(node)
    ears.channels.add(channel)
    if (ears.ready) this.#subscribe(channel, node, ears)
  }

  #earsAt(node: ClusterNode): Ears {
    let ears = this.#ears.get(node)
    if (ears === undefined) {
      const connection = this.#client.listenAt(node.address, {
        ready: () => this.#ready(node),
        lost: () => this.#lost(node),
        message: (text) => {
          if (!this.#closed) this.#listener.message(text)
        },
      })
      ears = { connection, channels: new Set(), ready: false }
      this.#ears.set(node, ears)
    }
    return ears
  }

  #ready(node: ClusterNode): void {
    const ears = this.#ears.get(node)
    if (ears === undefined) return
    ears.ready = true
    for (const channel of ears.channels) this.#subscribe(channel, node, ears)
  }

  #subscribe(channel: string, node: ClusterNode, ears: Ears): void {
    ears.connection.subscribe(channel).then(
      () => {
        const followed = this.#followed.get(channel)
        if (followed?.at === node) this.#listener.begun(followed.key)
      },
      () => {
        // Its slot may have moved, or the server has none of these. The next ask tries again.
        ears.channels.delete(channel)
        const followed = this.#followed.get(channel)
        if (followed?.at === node) followed.at = null
      },
    )
  }

  /** A connection is not opened again by itself: the names' next asks do that, where their slots are by then. */
  #lost(node: ClusterNode): void {
    const ears = this.#ears.get(node)
    if (ears === undefined) return
    this.#ears.delete(node)
    ears.connection.close()
    for (const followed of this.#followed.values()) if (followed.at === node) followed.at = null
  }

  #leave(channel: string, { at }: Followed): void {
    const ears = at === null ? undefined : this.#ears.get(at)
    if (ears?.channels.delete(channel) === true && ears.ready) ears.connection.unsubscribe(channel)
  }

  #sweepLater(): void {
    if (this.#closed) return
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = null
      this.#sweep()
    }, bounds.listenLinger)
  }

  #sweep(): void {
    const forgotten = this.#clock.monotonic() - FORGOTTEN_AFTER
    const lingers = this.#clock.monotonic() - bounds.listenLinger
    for (const [channel, followed] of this.#followed) {
      if (followed.seen >= (followed.over ? lingers : forgotten)) continue
      this.#leave(channel, followed)
      this.#followed.delete(channel)
    }
    for (const [node, ears] of this.#ears) {
      if (ears.channels.size > 0) continue
      this.#ears.delete(node)
      ears.connection.close()
    }
    if (this.#followed.size > 0) this.#sweepLater()
  }
}
