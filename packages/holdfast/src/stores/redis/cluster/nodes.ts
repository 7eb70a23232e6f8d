import type { Clock } from '../../../clock.ts'
import { StoreFailure } from '../../../store/failure.ts'
import type { RedisPort } from '../port.ts'
import { answered } from '../../../answered.ts'
import { addressOf, textOf, type ClusterClient, type NodeAddress, type NodeConnection } from './client.ts'
import { SlotMap } from './slot-map.ts'

/** So long a node is given to say where the slots lie, in milliseconds. */
const SLOTS_WITHIN = 300
/** So long a node that has no slots any more is given to answer what it was asked, in milliseconds. */
const ANSWERED_WITHIN = 1_000
/** Between two readings of where the slots lie, in milliseconds. */
const READ_EVERY = 100

/** One node, and our connection to it. */
export interface ClusterNode {
  readonly address: NodeAddress
  readonly port: RedisPort
}

/**
 * The primaries of a cluster, each with a connection of ours that is opened when it is first needed, and which of them has which
 * slot. Read anew when a node says MOVED and when one does not answer.
 */
export class ClusterNodes {
  readonly #client: ClusterClient
  readonly #clock: Clock
  readonly #map = new SlotMap()
  readonly #nodes = new Map<string, ClusterNode & NodeConnection>()
  /** Those that have no slots any more and are not closed yet. */
  readonly #left = new Set<NodeConnection>()
  readonly #changed = new Set<() => void>()
  readonly #connected: ((port: RedisPort) => void)[] = []
  #reading: Promise<void> | null = null
  #readAt = -Infinity
  #reads = 0
  #closed = false

  constructor(client: ClusterClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  get client(): ClusterClient['client'] {
    return this.#client.client
  }

  /** The node that has a slot; `null` when that is not known. */
  ownerOf(slot: number): ClusterNode | null {
    const owner = this.#map.ownerOf(slot)
    return owner === undefined || !this.#usable ? null : this.#at(owner)
  }

  /** All nodes that have slots; none while that is not known. */
  owners(): readonly ClusterNode[] {
    return this.#usable ? this.#map.owners.map((address) => this.#at(address)) : []
  }

  /** A node that another one speaks of, as `host:port`; `null` when nothing may be sent any more. */
  named(text: string, speaker: NodeAddress): ClusterNode | null {
    return this.#usable ? this.#at(this.#addressIn(text, speaker)) : null
  }

  /** A node said that a slot lies at `text`. */
  moved(slot: number, text: string, speaker: NodeAddress): void {
    this.#map.moved(slot, this.#addressIn(text, speaker))
    this.refresh()
  }

  /** Reads where the slots lie, in the background; not more often than ten times a second. */
  refresh(): void {
    if (this.#closed || this.#reading !== null || this.#clock.monotonic() - this.#readAt < READ_EVERY) return
    void this.#read().catch(() => undefined)
  }

  /** Resolves when it is known where the slots lie. Rejects at `until` (monotonic milliseconds), or when the client was closed. */
  async whenKnown(until: number): Promise<void> {
    while (!this.#map.known || !this.#usable) {
      if (this.#closed || this.#clock.monotonic() >= until) throw this.#unknown()
      if (!this.#client.ready) await this.#client.whenReady(until)
      await this.#read()
      if (!this.#map.known) await this.#pause(Math.min(READ_EVERY, until - this.#clock.monotonic()))
    }
  }

  /** Called when it was read anew where the slots lie, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#changed.add(listener)
    return () => this.#changed.delete(listener)
  }

  /** Called when a node is reached over a new connection. */
  onConnection(listener: (port: RedisPort) => void): void {
    this.#connected.push(listener)
  }

  onEnd(listener: () => void): void {
    this.#client.onEnd(listener)
  }

  close(): void {
    this.#closed = true
    for (const node of [...this.#nodes.values(), ...this.#left]) node.close()
    this.#nodes.clear()
    this.#client.detach()
  }

  get #usable(): boolean {
    return !this.#closed && this.#client.ready
  }

  #at(address: NodeAddress): ClusterNode {
    const text = textOf(address)
    let node = this.#nodes.get(text)
    if (node === undefined) {
      node = { address, ...this.#client.connect(address) }
      const { port } = node
      port.onConnection(() => {
        for (const listener of this.#connected) listener(port)
      })
      this.#nodes.set(text, node)
    }
    return node
  }

  /** A node that has no other name is where the speaker is. */
  #addressIn(text: string, { host }: NodeAddress): NodeAddress {
    const named = addressOf(text)
    return named.host === '' || named.host === '?'
      ? { host, port: named.port }
      : this.#client.reachedAt(named)
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readFromAny().finally(() => {
      this.#reading = null
      this.#readAt = this.#clock.monotonic()
    })
    return this.#reading
  }

  /** Asks one node after the other: those that we are connected to, then whatever else the client knows. */
  async #readFromAny(): Promise<void> {
    const nodes = [...this.#nodes.values()]
    const connected = nodes.filter(({ port }) => port.ready)
    const others = nodes.filter(({ port }) => !port.ready).map(({ address }) => address)
    const addresses = new Map(
      [...others, ...this.#client.seeds()].map((address) => [textOf(address), address]),
    )
    for (const { address } of connected) addresses.delete(textOf(address))
    // Another one each time: one may be cut off from the others, and not know.
    this.#reads += 1
    for (let i = 0; i < connected.length; i += 1) {
      const node = connected[(this.#reads + i) % connected.length]
      if (node !== undefined && (await this.#readFrom(node))) return
    }
    for (const address of addresses.values()) if (await this.#readFrom(this.#at(address))) return
  }

  /** Whether a node said where the slots lie. */
  async #readFrom({ address, port }: ClusterNode): Promise<boolean> {
    const until = this.#clock.monotonic() + SLOTS_WITHIN
    if (!port.ready) await port.whenReady(until).catch(() => undefined)
    if (!port.ready || this.#closed) return this.#closed
    const reply = await answered(port.send(['CLUSTER', 'SLOTS']), this.#clock, until)
    if (this.#closed) return true
    if (!this.#map.read(reply, address, (announced) => this.#client.reachedAt(announced))) return false
    this.#leaveOthers()
    // All of them at once, so that the first call to each does not wait for it.
    this.owners()
    for (const listener of [...this.#changed]) listener()
    return true
  }

  /** Ends the connections to nodes that have no slot any more, when what they were asked is answered. */
  #leaveOthers(): void {
    const owners = new Set(this.#map.owners.map(textOf))
    for (const [text, node] of this.#nodes) {
      if (owners.has(text)) continue
      this.#nodes.delete(text)
      this.#left.add(node)
      this.#clock.setTimer(() => {
        this.#left.delete(node)
        node.close()
      }, ANSWERED_WITHIN)
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimer(resolve, Math.max(1, ms))
    })
  }

  #unknown(): StoreFailure {
    return new StoreFailure(`no node of the cluster told the ${this.client} client where the slots lie`, {
      kind: 'unreachable',
      outcome: 'not-done',
      final: false,
      reason: 'connection',
      remedy: "The client's user needs +cluster|slots.",
    })
  }
}
