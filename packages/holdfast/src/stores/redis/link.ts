import type { Clock } from '../../clock.ts'
import { ServerClock } from '../../store/server-clock.ts'
import type { CallKind, CallItem } from './call-kind.ts'
import { Gatherer } from './gather.ts'
import type { RedisPort, Subscription } from './port.ts'

/** Takes items, and sees to it that each travels in a call to the server that has its keys. */
export interface CallSender {
  add(kind: CallKind, item: CallItem): void
}

/** What is heard of names. */
export interface NameListener {
  /** What was published on the channel of some name. */
  message(text: string): void
  /** A lock's channel is heard from now on; what was published before is lost. */
  begun(key: string): void
}

/** Channels of names, each heard while somebody waits for the name. */
export interface NameChannels {
  /** Called again with every ask of who waits. @param key the lock's */
  follow(channel: string, key: string): void
  unfollow(channel: string): void
  close(): void
}

/** What a store's calls go over: one server, or the primaries of a cluster. */
export interface RedisLink {
  /** The client's kind, for errors. */
  readonly client: RedisPort['client']
  /** Whether all keys of a call must lie in one slot. */
  readonly inCluster: boolean
  /** @param name what its calls are told apart by from those of others over the same client */
  sender(name: string): CallSender
  /** As {@link RedisPort.subscribe}; heard wherever in the cluster it is published. */
  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription
  /** Wake-ups by the names that are waited for, in a cluster; `null` where all come by one channel. */
  names(listener: NameListener): NameChannels | null
  /** Every server that grants, to be looked at. Rejects as {@link RedisPort.whenReady} does. */
  ports(until: number): Promise<readonly RedisPort[]>
  /** Called when a server is reached over a new connection. */
  onConnection(listener: (port: RedisPort) => void): void
  /** Called when the client was closed by its owner. */
  onEnd(listener: () => void): void
  /** Ends what was opened, and takes our listeners off the client. Never rejects. */
  close(): Promise<void>
}

/** The link to a single server, over one port. */
export class ServerLink implements RedisLink {
  readonly inCluster = false
  readonly #port: RedisPort
  readonly #clock: Clock

  constructor(port: RedisPort, clock: Clock) {
    this.#port = port
    this.#clock = clock
  }

  get client(): RedisPort['client'] {
    return this.#port.client
  }

  sender(name: string): CallSender {
    const serverClock = new ServerClock(this.#clock)
    this.#port.onConnection(() => serverClock.forget())
    return new Gatherer(this.#port, name, this.#clock, serverClock)
  }

  subscribe(
    channels: readonly string[],
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Subscription {
    return this.#port.subscribe(channels, onMessage, onGap)
  }

  names(): null {
    return null
  }

  async ports(until: number): Promise<readonly RedisPort[]> {
    if (!this.#port.ready) await this.#port.whenReady(until)
    return [this.#port]
  }

  onConnection(listener: (port: RedisPort) => void): void {
    this.#port.onConnection(() => listener(this.#port))
  }

  onEnd(listener: () => void): void {
    this.#port.onEnd(listener)
  }

  close(): Promise<void> {
    this.#port.detach()
    return Promise.resolve()
  }
}
