import type { Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { ConnectionWatch, type ClientEvents } from './connection.ts'
import { SentTwiceError, type PortReply, type RedisPort, type Subscription } from './port.ts'

/** What we use of a client of node-redis (5 or 6). */
export interface NodeRedisLike extends ClientEvents {
  readonly isOpen: boolean
  readonly isReady: boolean
  sendCommand(args: readonly string[]): Promise<unknown>
  duplicate(): unknown
}

/** What we use of the connection that it duplicates for us. */
interface NodeRedisSubscriber extends NodeRedisLike {
  connect(): Promise<unknown>
  subscribe(channels: readonly string[], listener: (message: string) => void): Promise<unknown>
  destroy(): void
  unref(): void
}

/** Whether a client is of node-redis' make. */
export function isNodeRedis(client: object): client is NodeRedisLike {
  return (
    'sendCommand' in client &&
    typeof client.sendCommand === 'function' &&
    'isReady' in client &&
    'isOpen' in client
  )
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkNodeRedis(client: NodeRedisLike): void {
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
  readonly #watch: ConnectionWatch

  constructor(client: NodeRedisLike, clock: Clock) {
    this.#client = client
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
    const subscriber = this.#client.duplicate() as NodeRedisSubscriber
    let subscribed = false
    subscriber.on('error', () => undefined)
    // The client subscribes again by itself before it says that it is ready again.
    subscriber.on('ready', () => {
      subscriber.unref()
      if (subscribed) onGap()
    })
    subscriber
      .connect()
      .then(() => subscriber.subscribe(channels, onMessage))
      .then(
        () => {
          subscribed = true
          onGap()
        },
        () => undefined,
      )
    return {
      close: () => {
        if (subscriber.isOpen) subscriber.destroy()
        return Promise.resolve()
      },
    }
  }

  onConnection(listener: () => void): void {
    this.#watch.onConnection(listener)
  }

  distrust(): void {
    // It has no call for this. The server ends the connection, and the client begins another.
    if (this.#watch.distrust()) this.#client.sendCommand(['QUIT']).catch(() => undefined)
  }

  detach(): void {
    this.#watch.detach()
  }
}
