import { isClosed, refuseKeyPrefix } from './client-checks.ts'
import type { Clock } from '../../clock.ts'
import { ConnectionWatch, Persistence, reconnectDelay, type ClientEvents } from './connection.ts'
import { commandSender } from './ioredis-command.ts'
import { OwnConnections, type OpenOwn, type OwnConnection } from './own-connections.ts'
import type { RedisPort, Subscription } from './port.ts'

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
  const { keyPrefix } = client.options as { keyPrefix?: unknown }
  refuseKeyPrefix(keyPrefix, 'does not reach every raw call of ioredis')
  checkOpen(client)
}

function checkOpen(client: IoredisLike): void {
  if (client.status !== 'end') return
  throw isClosed('an ioredis client')
}

/** The port over a client of ioredis. It re-sends what was in flight when a connection dropped; we only notice it. */
export class IoredisPort implements RedisPort {
  readonly client = 'ioredis'
  readonly #client: IoredisLike
  readonly #send: ((words: readonly string[]) => Promise<unknown>) | null
  readonly #clock: Clock
  readonly #watch: ConnectionWatch
  readonly #own: OwnConnections

  constructor(client: IoredisLike, clock: Clock) {
    this.#client = client
    this.#send = commandSender(client)
    this.#clock = clock
    this.#watch = new ConnectionWatch(client, clock)
    this.#own = new OwnConnections(clock, (endBy) => openOwn(client, endBy))
    this.#watch.onConnection(() => this.#own.anew())
  }

  get ready(): boolean {
    return this.#client.status === 'ready'
  }

  get connection(): number {
    return this.#watch.count
  }

  async whenReady(until: number): Promise<void> {
    if (this.ready) return
    checkOpen(this.#client)
    // A lazy client connects with its first command, which we do not send before it is connected.
    if (this.#client.status === 'wait') this.#client.connect().catch(() => undefined)
    await this.#watch.next(until, this.client)
  }

  send(command: readonly string[]): Promise<unknown> {
    if (this.#send !== null) return this.#send(command)
    return this.#client.call(command[0] ?? '', command.slice(1))
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
      retryStrategy: reconnectDelay,
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
    if (this.#watch.distrust()) this.#client.disconnect(true)
  }

  detach(): void {
    this.#watch.detach()
    this.#own.close()
  }
}

/** Without a strategy for reconnecting it ends with its connection, and rejects what was in flight instead of sending it again. */
async function openOwn(client: IoredisLike, endBy: Parameters<OpenOwn>[0]): Promise<OwnConnection> {
  const own = client.duplicate({
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResubscribe: false,
    retryStrategy: null,
    sentinelRetryStrategy: null,
  }) as IoredisSubscriber
  own.on('error', () => undefined)
  own.on('connect', () => own.stream?.unref?.())
  endBy(() => own.disconnect())
  await own.connect()
  return {
    get alive() {
      return own.status === 'ready'
    },
    send: (command) => own.call(command[0] ?? '', command.slice(1)),
    end: () => own.disconnect(),
  }
}
