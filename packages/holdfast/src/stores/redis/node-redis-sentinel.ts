import { isNotOpen, refuseKeyPrefix } from './client-checks.ts'
import type { Clock } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import { ConnectionWatch, type ClientEvents } from './connection.ts'
import { openOwn, subscribeOver, type NodeRedisLike } from './node-redis.ts'
import { OwnConnections, type OwnConnection } from './own-connections.ts'
import type { RedisPort, Subscription } from './port.ts'
import { addressOf, end, SentinelDiscovery, type NodeAddress } from './sentinel-discovery.ts'

/** What we use of a client that node-redis (5 or 6) makes with `createSentinel`. */
export interface NodeRedisSentinelLike extends ClientEvents {
  readonly isOpen: boolean
  getSentinelNode(): NodeAddress | undefined
  getMasterNode(): NodeAddress | undefined
  /** Hands over the client of the present primary, when there is one. */
  _execute<T>(isReadonly: boolean | undefined, work: (primary: NodeRedisLike) => Promise<T>): Promise<T>
}

/** Whether a client is one for a Sentinel set, of node-redis' make. */
export function isNodeRedisSentinel(client: object): client is NodeRedisSentinelLike {
  return 'getSentinelNode' in client && '_execute' in client && typeof client._execute === 'function'
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkNodeRedisSentinel(client: NodeRedisSentinelLike): void {
  const { _keyPrefix: keyPrefix } = client as { _keyPrefix?: unknown }
  refuseKeyPrefix(keyPrefix, 'does not reach the raw calls of node-redis')
}

/** The events of the primary's client, whichever that is at the time. */
class PrimaryEvents implements ClientEvents {
  readonly #listeners = new Map<string, Set<(...args: unknown[]) => void>>()

  on(event: string, listener: (...args: unknown[]) => void): void {
    const listeners = this.#listeners.get(event) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(event, listeners)
  }

  off(event: string, listener: (...args: unknown[]) => void): void {
    this.#listeners.get(event)?.delete(listener)
  }

  tell(event: 'ready' | 'end'): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener()
  }
}

/**
 * The port over a Sentinel set's client. It asks that client for the client of the primary and speaks to it directly: the set's own `sendCommand`
 * sends a command again by itself when the primary changes in the midst of it. When the primary is gone it also asks the sentinels itself, and
 * speaks to whom they name over a connection of its own: the client looks once a second only, and is told of a new primary late.
 */
export class NodeRedisSentinelPort implements RedisPort {
  readonly client = 'node-redis'
  readonly #client: NodeRedisSentinelLike
  readonly #clock: Clock
  readonly #events = new PrimaryEvents()
  readonly #watch: ConnectionWatch
  readonly #own: OwnConnections
  readonly #subscriptions = new Set<() => void>()
  readonly #discovery: SentinelDiscovery
  #primary: NodeRedisLike | null = null
  /** Whether the primary's client is one of ours. */
  #isOurs = false
  #seeking = false
  #asking = false
  #detached = false
  /** Monotonic milliseconds until which somebody waits for a primary. */
  #soughtUntil = 0

  readonly #onReady = (): void => {
    this.#events.tell('ready')
    // It may be a replica by now.
    this.#ask()
  }
  readonly #onGone = (): void => this.#ask()
  readonly #onEnd = (): void => this.#events.tell('end')
  /** The old primary's client was ended with this: find the new one for those who are subscribed. */
  readonly #onChange = (): void => {
    if (this.#subscriptions.size > 0) this.#seek()
    this.#ask()
  }

  constructor(client: NodeRedisSentinelLike, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#watch = new ConnectionWatch(this.#events, clock)
    this.#discovery = new SentinelDiscovery(clock)
    this.#own = new OwnConnections(clock, async (endBy) => openOwn(await this.#needPrimary(), endBy))
    this.#watch.onConnection(() => this.#own.anew())
    client.on('end', this.#onEnd)
    client.on('topology-change', this.#onChange)
  }

  get ready(): boolean {
    return this.#primary?.isReady ?? false
  }

  get connection(): number {
    return this.#watch.count
  }

  async whenReady(until: number): Promise<void> {
    if (this.ready) return
    if (!this.#client.isOpen) {
      throw isNotOpen('a node-redis client of a Sentinel set')
    }
    this.#soughtUntil = Math.max(this.#soughtUntil, until)
    this.#seek()
    this.#ask()
    await this.#watch.next(until, this.client)
  }

  send(command: readonly string[]): Promise<unknown> {
    if (this.#primary === null) return Promise.reject(new Error('there is no primary'))
    return this.#primary.sendCommand(command)
  }

  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription {
    let over: NodeRedisLike | null = null
    let current: Subscription | null = null
    const follow = (): void => {
      if (this.#primary === null || this.#primary === over) return
      over = this.#primary
      void current?.close()
      current = subscribeOver(over, this.#clock, { channels, onMessage, onGap })
    }
    this.#subscriptions.add(follow)
    if (this.#primary === null) this.#seek()
    follow()
    return {
      close: async () => {
        this.#subscriptions.delete(follow)
        await current?.close()
      },
    }
  }

  withConnection<T>(until: number, work: (connection: OwnConnection) => Promise<T>): Promise<T> {
    return this.#own.use(until, work)
  }

  onConnection(listener: () => void): void {
    this.#watch.onConnection(listener)
  }

  onEnd(listener: () => void): void {
    this.#watch.onEnd(listener)
  }

  distrust(): void {
    if (this.#watch.distrust()) this.#primary?.sendCommand(['QUIT']).catch(() => undefined)
  }

  detach(): void {
    this.#client.off('end', this.#onEnd)
    this.#client.off('topology-change', this.#onChange)
    this.#detached = true
    this.#leave()
    this.#discovery.rest()
    this.#watch.detach()
    this.#own.close()
  }

  async #needPrimary(): Promise<NodeRedisLike> {
    await this.whenReady(this.#clock.monotonic() + bounds.ownConnectionGrace)
    if (this.#primary === null) throw new Error('there is no primary')
    return this.#primary
  }

  /** Asks for the primary's client until there is one, or nobody waits for it any more. One at a time. */
  #seek(): void {
    if (this.#seeking) return
    this.#seeking = true
    this.#client
      ._execute(false, (primary) => Promise.resolve(primary))
      .then((primary) => this.#found(primary))
      .catch(() => undefined)
      .finally(() => {
        this.#seeking = false
        if (!this.ready && this.#isWanted) this.#clock.setTimer(() => this.#seek(), bounds.seekPrimary)
      })
  }

  /** Asks the sentinels, again and again, until the primary is the one that they name, or nobody wants it any more. One at a time. */
  #ask(): void {
    const like = this.#primary
    if (this.#asking || like === null || !this.#discovery.ready) return
    this.#asking = true
    this.#discovery
      .ask(like)
      .then((found) => {
        // The client may have found it meanwhile.
        const isKnown = found !== null && this.ready && this.#primary !== like
        if (found !== null && (isKnown || this.#detached)) end(found)
        else if (found !== null) this.#follow(found, true)
      })
      .catch(() => undefined)
      .finally(() => {
        this.#asking = false
        if (this.ready || this.#detached || !this.#isWanted) this.#discovery.rest()
        else this.#clock.setTimer(() => this.#ask(), bounds.seekPrimary)
      })
  }

  get #isWanted(): boolean {
    return (
      this.#client.isOpen && (this.#subscriptions.size > 0 || this.#clock.monotonic() < this.#soughtUntil)
    )
  }

  #found(primary: NodeRedisLike): void {
    // It came back by itself, and its own event has told so.
    if (primary === this.#primary || this.#detached) return
    const at = addressOf(primary)
    if (!this.#discovery.ready || at === null) return this.#follow(primary, false)
    // Ours is where the sentinels said, and the client's may be an old one that was started again.
    if (this.#isOurs && this.ready) return
    void this.#discovery.confirms(primary, at).then((is) => {
      if (is && !this.#detached && !(this.#isOurs && this.ready)) this.#follow(primary, false)
    })
  }

  #follow(primary: NodeRedisLike, isOurs: boolean): void {
    this.#leave()
    this.#primary = primary
    this.#isOurs = isOurs
    primary.on('ready', this.#onReady)
    primary.on('reconnecting', this.#onGone)
    for (const follow of this.#subscriptions) follow()
    if (primary.isReady) this.#events.tell('ready')
    if (!isOurs)
      void this.#discovery.learn(primary, this.#client.getSentinelNode(), this.#client.getMasterNode())
  }

  /** Lets go of the primary's client. */
  #leave(): void {
    this.#primary?.off('ready', this.#onReady)
    this.#primary?.off('reconnecting', this.#onGone)
    if (this.#isOurs && this.#primary !== null) end(this.#primary)
    this.#isOurs = false
  }
}
