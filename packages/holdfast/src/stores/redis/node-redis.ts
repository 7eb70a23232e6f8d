import type { Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { ConnectionWatch, Persistence, type ClientEvents } from './connection.ts'
import { SentTwiceError, type PortReply, type RedisPort, type Subscription } from './port.ts'

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

/** Whether a client is of node-redis' make; also one of a kind that we cannot use. */
export function isNodeRedis(client: object): client is NodeRedisLike {
  return (
    'sendCommand' in client &&
    typeof client.sendCommand === 'function' &&
    'isOpen' in client &&
    ('isReady' in client || isCluster(client))
  )
}

function isCluster(client: object): boolean {
  return 'getSlotMaster' in client
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkNodeRedis(client: NodeRedisLike): void {
  const other = isCluster(client) ? 'a Redis Cluster' : 'getSentinelNode' in client ? 'a Sentinel set' : null
  if (other !== null) {
    throw new InvalidArgumentError('client', other === 'a Redis Cluster' ? 'Cluster' : 'Sentinel', {
      problem: `is a client of ${other}, which this version does not support over node-redis`,
      remedy: 'Give a client of a single server, made with createClient().',
    })
  }
  const { options } = client as { options?: { keyPrefix?: unknown } | undefined }
  const keyPrefix = options?.keyPrefix
  if (keyPrefix === undefined || keyPrefix === '') return
  throw new InvalidArgumentError('client.keyPrefix', keyPrefix, {
    problem: 'does not reach the raw calls of node-redis, so that locks would lie elsewhere than you think',
    remedy: "Give a client without keyPrefix, and the prefix as createHoldfast({ prefix: 'shop:v1' }).",
  })
}

function checkOpen(client: NodeRedisLike): void {
  if (client.isOpen) return
  throw new InvalidArgumentError('client', 'a node-redis client', {
    problem: 'is closed, or was never connected',
    remedy: 'Call `await client.connect()` before the first lock, and close the client after hf.close().',
  })
}

/** The port over a client of node-redis. It rejects what was in flight when a connection dropped; that may have run. */
export class NodeRedisPort implements RedisPort {
  readonly client = 'node-redis'
  readonly #client: NodeRedisLike
  readonly #clock: Clock
  readonly #watch: ConnectionWatch

  constructor(client: NodeRedisLike, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#watch = new ConnectionWatch(client, clock)
  }

  async send(build: () => readonly string[] | null, until: number): Promise<PortReply | null> {
    while (!this.#client.isReady) {
      checkOpen(this.#client)
      await this.#watch.next(until, this.client)
    }
    const command = build()
    if (command === null) return null
    const connection = this.#watch.count
    try {
      const reply = await this.#client.sendCommand(command)
      return { reply, sameConnection: connection === this.#watch.count }
    } catch (error) {
      throw connection === this.#watch.count ? error : new SentTwiceError(error)
    }
  }

  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription {
    const subscriber = this.#client.duplicate({ disableOfflineQueue: true }) as NodeRedisSubscriber
    let subscribed = false
    const subscription = new Persistence(this.#clock, async () => {
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
  }
}
