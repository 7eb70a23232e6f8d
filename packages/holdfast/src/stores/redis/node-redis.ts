import { isNotOpen, refuseKeyPrefix } from './client-checks.ts'
import type { Clock } from '../../clock.ts'
import { ConnectionWatch, Persistence, type ClientEvents } from './connection.ts'
import { OwnConnections, type OpenOwn, type OwnConnection } from './own-connections.ts'
import type { RedisPort, Subscription } from './port.ts'

/** What we use of a client of node-redis (5 or 6). */
export interface NodeRedisLike extends ClientEvents {
  readonly isOpen: boolean
  readonly isReady: boolean
  sendCommand(args: readonly string[]): Promise<unknown>
  duplicate(overrides?: object): unknown
}

/** What we use of the connection that it duplicates for us. */
interface NodeRedisSubscriber extends NodeRedisLike {
  connect(): Promise<unknown>
  subscribe(channels: readonly string[], listener: (message: string) => void): Promise<unknown>
  destroy(): void
  unref(): void
}

/** Whether a client is of node-redis' make, and of a single server. */
export function isNodeRedis(client: object): client is NodeRedisLike {
  return (
    'sendCommand' in client &&
    typeof client.sendCommand === 'function' &&
    'isOpen' in client &&
    'isReady' in client
  )
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkNodeRedis(client: NodeRedisLike): void {
  const { options } = client as { options?: { keyPrefix?: unknown } | undefined }
  const keyPrefix = options?.keyPrefix
  refuseKeyPrefix(keyPrefix, 'does not reach the raw calls of node-redis')
}

function checkOpen(client: NodeRedisLike): void {
  if (client.isOpen) return
  throw isNotOpen('a node-redis client')
}

/** The port over a client of node-redis. It rejects what was in flight when a connection dropped; that may have run. */
export class NodeRedisPort implements RedisPort {
  readonly client = 'node-redis'
  readonly #client: NodeRedisLike
  readonly #clock: Clock
  readonly #watch: ConnectionWatch
  readonly #own: OwnConnections

  constructor(client: NodeRedisLike, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#watch = new ConnectionWatch(client, clock)
    this.#own = new OwnConnections(clock, (endBy) => openOwn(client, endBy))
    this.#watch.onConnection(() => this.#own.anew())
  }

  get ready(): boolean {
    return this.#client.isReady
  }

  get connection(): number {
    return this.#watch.count
  }

  async whenReady(until: number): Promise<void> {
    if (this.ready) return
    checkOpen(this.#client)
    await this.#watch.next(until, this.client)
  }

  send(command: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(command)
  }

  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription {
    return subscribeOver(this.#client, this.#clock, { channels, onMessage, onGap })
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
    // It has no call for this. The server ends the connection, and the client begins another.
    if (this.#watch.distrust()) this.#client.sendCommand(['QUIT']).catch(() => undefined)
  }

  detach(): void {
    this.#watch.detach()
    this.#own.close()
  }
}

/** What a subscription is for. */
export interface Hearing {
  readonly channels: readonly string[]
  readonly onMessage: (message: string) => void
  readonly onGap: () => void
}

/** Subscribes on a connection of its own, which the client duplicates. */
export function subscribeOver(
  client: NodeRedisLike,
  clock: Clock,
  { channels, onMessage, onGap }: Hearing,
): Subscription {
  const subscriber = client.duplicate({ disableOfflineQueue: true }) as NodeRedisSubscriber
  let subscribed = false
  const subscription = new Persistence(clock, async () => {
    await subscriber.subscribe(channels, onMessage)
    subscribed = true
    onGap()
  })
  subscriber.on('error', () => undefined)
  // The client subscribes again by itself before it says that it is ready again, but only where it was confirmed before.
  subscriber.on('ready', () => {
    subscriber.unref()
    if (subscribed) onGap()
    else subscription.begin()
  })
  subscriber.connect().catch(() => undefined)
  return {
    close: () => {
      subscription.stop()
      if (subscriber.isOpen) subscriber.destroy()
      return Promise.resolve()
    },
  }
}

/** Without a strategy for reconnecting it ends with its connection. */
export async function openOwn(client: NodeRedisLike, endBy: Parameters<OpenOwn>[0]): Promise<OwnConnection> {
  const { options } = client as { options?: { socket?: object } }
  const socket = { ...options?.socket, reconnectStrategy: false }
  const own = client.duplicate({ disableOfflineQueue: true, socket }) as NodeRedisSubscriber
  let over = false
  const end = (): void => {
    over = true
    if (own.isOpen) own.destroy()
  }
  own.on('error', () => undefined)
  own.on('ready', () => own.unref())
  endBy(end)
  try {
    await own.connect()
  } catch (error) {
    if (own.isOpen) own.destroy()
    throw error
  }
  return {
    get alive() {
      return !over && own.isReady
    },
    send: (command) => own.sendCommand(command),
    end,
  }
}
