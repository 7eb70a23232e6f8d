import type { Clock } from '../../../clock.ts'
import type { Attempt } from '../../../store/attempt.ts'
import { ServerClock } from '../../../store/server-clock.ts'
import { StoreFailure } from '../../../store/failure.ts'
import type { CallItem, CallKind } from '../call-kind.ts'
import { Gatherer } from '../gather.ts'
import type { CallSender, NameChannels, NameListener, RedisLink } from '../link.ts'
import type { RedisPort, Subscription } from '../port.ts'
import { failureOf } from '../refusal.ts'
import type { ClusterClient } from './client.ts'
import { ClusterSubscription } from './cluster-subscription.ts'
import { ClusterNodes, type ClusterNode } from './nodes.ts'
import { ShardedWakes } from './sharded-wakes.ts'
import { slotOf } from './slot.ts'

/** So often one try of an operation is sent elsewhere, since a node said so. More of them is a cluster in turmoil. */
const MOST_REDIRECTS = 5

/** A node that has answered nothing for so long may have a successor, in milliseconds. */
const SILENT_MS = 250

/** How a node says that it has not the slot, or not now, and who has it. */
const ELSEWHERE = /\b(MOVED|ASK) (\d+) ([^\s"]*:\d+)/

/** The link to the primaries of a cluster: each call goes to the one that has its slot, over a connection of ours. */
export class ClusterLink implements RedisLink {
  readonly inCluster = true
  readonly #client: ClusterClient
  readonly #nodes: ClusterNodes
  readonly #clock: Clock

  constructor(client: ClusterClient, clock: Clock) {
    this.#client = client
    this.#nodes = new ClusterNodes(client, clock)
    this.#clock = clock
  }

  get client(): RedisPort['client'] {
    return this.#nodes.client
  }

  sender(name: string): CallSender {
    return new ClusterSender(this.#nodes, name, this.#clock)
  }

  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription {
    return new ClusterSubscription(this.#nodes, this.#clock, (port) =>
      port.subscribe(channels, onMessage, onGap),
    )
  }

  names(listener: NameListener): NameChannels {
    return new ShardedWakes(this.#nodes, this.#client, this.#clock, listener)
  }

  async ports(until: number): Promise<readonly RedisPort[]> {
    await this.#nodes.whenKnown(until)
    return this.#nodes.owners().map(({ port }) => port)
  }

  onConnection(listener: (port: RedisPort) => void): void {
    this.#nodes.onConnection(listener)
  }

  onEnd(listener: () => void): void {
    this.#nodes.onEnd(listener)
  }

  close(): Promise<void> {
    this.#nodes.close()
    return Promise.resolve()
  }
}

/** Sends each item to the node that has its slot, and again to another when a node says so and did nothing. */
class ClusterSender implements CallSender {
  readonly #nodes: ClusterNodes
  readonly #name: string
  readonly #clock: Clock
  /** Each node has its own clock, and its calls their own connection. */
  readonly #gatherers = new WeakMap<ClusterNode, Gatherer>()
  readonly #redirects = new WeakMap<Attempt, number>()
  #made = 0

  constructor(nodes: ClusterNodes, name: string, clock: Clock) {
    this.#nodes = nodes
    this.#name = name
    this.#clock = clock
  }

  add(kind: CallKind, item: CallItem): void {
    const slot = slotOf(item.keys[0] ?? '')
    const node = this.#nodes.ownerOf(slot)
    if (node === null) this.#addWhenKnown(kind, item, slot)
    else this.#addTo(node, kind, item, slot)
  }

  #addWhenKnown(kind: CallKind, item: CallItem, slot: number): void {
    this.#nodes.whenKnown(item.attempt.until).then(
      () => {
        if (item.attempt.abandoned) return
        const node = this.#nodes.ownerOf(slot)
        if (node !== null) return this.#addTo(node, kind, item, slot)
        this.#nodes.refresh()
        item.fail(noOwner(slot))
      },
      (error: unknown) => item.fail(failureOf(error, this.#nodes.client)),
    )
  }

  #addTo(node: ClusterNode, kind: CallKind, item: CallItem, slot: number): void {
    const gatherer = this.#gathererOf(node)
    // It may be dead, or stand still, and another have its slots.
    if (!node.port.ready || gatherer.silentFor > SILENT_MS) this.#nodes.refresh()
    gatherer.add(kind, item, slot)
  }

  #gathererOf(node: ClusterNode): Gatherer {
    let gatherer = this.#gatherers.get(node)
    if (gatherer === undefined) {
      const serverClock = new ServerClock(this.#clock)
      node.port.onConnection(() => serverClock.forget())
      // Two nodes must not have calls of one name: a reply could be looked for on either.
      this.#made += 1
      const name = `${this.#name}${this.#made.toString(36)}.`
      const elsewhere = (kind: CallKind, items: readonly CallItem[], failure: StoreFailure): boolean =>
        this.#sendElsewhere(node, kind, items, failure)
      gatherer = new Gatherer(node.port, name, this.#clock, serverClock, elsewhere)
      this.#gatherers.set(node, gatherer)
    }
    return gatherer
  }

  /** What a node did not do since it has not the slot; false when there is nobody else to ask. */
  #sendElsewhere(
    node: ClusterNode,
    kind: CallKind,
    items: readonly CallItem[],
    failure: StoreFailure,
  ): boolean {
    const [, word, number, text = ''] = ELSEWHERE.exec(failure.message) ?? []
    if (word === 'MOVED') {
      this.#nodes.moved(Number(number), text, node.address)
      return this.#again(items, failure, (item) => this.add(kind, item))
    }
    if (word === 'ASK') {
      const named = this.#nodes.named(text, node.address)
      if (named === null) return false
      const other = this.#gathererOf(named)
      return this.#again(items, failure, (item) => other.addAlone(kind, item, { asking: true }))
    }
    // We have left that node, since it has no slots any more.
    if (failure.reason === 'client') return this.#again(items, failure, (item) => this.add(kind, item))
    if (failure.reason === 'CLUSTERDOWN') this.#nodes.refresh()
    if (failure.reason !== 'TRYAGAIN') return false
    // Its slot is on its way, and the keys of this call are not all on one side. Those of one item may be; one key always is.
    const alone = items.length > 1 ? kind : kind.alone
    if (alone === undefined) return false
    return this.#again(items, failure, (item) => {
      this.#gathererOf(node).addAlone(alone, item, { asking: false })
    })
  }

  #again(items: readonly CallItem[], failure: StoreFailure, send: (item: CallItem) => void): boolean {
    for (const item of items) {
      const { attempt } = item
      if (attempt.abandoned) continue
      const times = (this.#redirects.get(attempt) ?? 0) + 1
      this.#redirects.set(attempt, times)
      const enough = times > MOST_REDIRECTS || this.#clock.monotonic() >= attempt.until
      if (enough) item.fail(inTurmoil(failure))
      else send(item)
    }
    return true
  }
}

/** A later try may find the slot where it is looked for. */
function inTurmoil({ message, kind, outcome, reason, cause }: StoreFailure): StoreFailure {
  const remedy = 'The slots of the cluster are being moved; it answers when that is done.'
  return new StoreFailure(message, { kind, outcome, final: false, reason, remedy, cause })
}

function noOwner(slot: number): StoreFailure {
  return new StoreFailure(`no node of the cluster has slot ${slot}`, {
    kind: 'refused',
    outcome: 'not-done',
    final: false,
    reason: 'CLUSTERDOWN',
    remedy: 'The cluster misses slots; look at CLUSTER INFO.',
  })
}
