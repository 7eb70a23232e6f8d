import type { Clock } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { ConnectionWatch, Persistence, type ClientEvents } from './connection.ts'
import { SentTwiceError, type PortReply, type RedisPort, type Subscription } from './port.ts'

/** What we use of a client of ioredis (5 or 6) or iovalkey. */
export interface IoredisLike extends ClientEvents {
  readonly status: string
  readonly options: object
  call(command: string, args: string[]): Promise<unknown>
  duplicate(override: object): unknown
  connect(): Promise<unknown>
  disconnect(reconnect?: boolean): void
}

/** What we use of the connection that it duplicates for us. */
interface IoredisSubscriber extends IoredisLike {
  readonly stream?: { unref?(): unknown } | null
  subscribe(...channels: string[]): Promise<unknown>
}

/** Whether a client is of ioredis' make. */
export function isIoredis(client: object): client is IoredisLike {
  return (
    'call' in client &&
    typeof client.call === 'function' &&
    'status' in client &&
    typeof client.status === 'string'
  )
}

/** @throws InvalidArgumentError when this client cannot be used, before anything is sent */
export function checkIoredis(client: IoredisLike): void {
  if ('isCluster' in client && client.isCluster === true) {
    throw new InvalidArgumentError('client', 'Cluster', {
      problem: 'is a client of a Redis Cluster, which this version does not support',
      remedy: 'Give a client of a single server or of a Sentinel set.',
    })
  }
  const { keyPrefix } = client.options as { keyPrefix?: unknown }
  if (typeof keyPrefix === 'string' && keyPrefix !== '') {
    throw new InvalidArgumentError('client.keyPrefix', keyPrefix, {
      problem: 'does not reach every raw call of ioredis, so that locks would lie elsewhere than you think',
      remedy: "Give a client without keyPrefix, and the prefix as createHoldfast({ prefix: 'shop:v1' }).",
    })
  }
  checkOpen(client)
}

function checkOpen(client: IoredisLike): void {
  if (client.status !== 'end') return
  throw new InvalidArgumentError('client', 'an ioredis client', {
    problem: 'is closed (status "end")',
    remedy: 'Give a client that is connected or connecting, and close it after hf.close().',
  })
}

/** The port over a client of ioredis. It re-sends what was in flight when a connection dropped; we only notice it. */
export class IoredisPort implements RedisPort {
  readonly client = 'ioredis'
  readonly #client: IoredisLike
  readonly #clock: Clock
  readonly #watch: ConnectionWatch

  constructor(client: IoredisLike, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#watch = new ConnectionWatch(client, clock)
  }

  async send(build: () => readonly string[] | null, until: number): Promise<PortReply | null> {
    while (this.#client.status !== 'ready') {
      checkOpen(this.#client)
      // A lazy client connects with its first command, which we do not send before it is connected.
      if (this.#client.status === 'wait') this.#client.connect().catch(() => undefined)
      await this.#watch.next(until, this.client)
    }
    const command = build()
    if (command === null) return null
    const connection = this.#watch.count
    try {
      const reply = await this.#client.call(command[0] ?? '', command.slice(1))
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
    const subscriber = this.#client.duplicate({
      lazyConnect: true,
      autoResubscribe: false,
      enableOfflineQueue: false,
      maxRetriesPerRequest: null,
      retryStrategy: (times: number) => Math.min(2_000, 50 * 2 ** Math.min(times, 6)),
    }) as IoredisSubscriber
    subscriber.on('error', () => undefined)
    subscriber.on('connect', () => subscriber.stream?.unref?.())
    subscriber.on('message', (_channel, message) => onMessage(String(message)))
    const subscription = new Persistence(this.#clock, async () => {
      await subscriber.subscribe(...channels)
      onGap()
    })
    subscriber.on('ready', () => subscription.begin())
    subscriber.connect().catch(() => undefined)
    return {
      close: () => {
        subscription.stop()
        subscriber.disconnect()
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
    if (this.#watch.distrust()) this.#client.disconnect(true)
  }

  detach(): void {
    this.#watch.detach()
  }
}
