import { createHoldfast, type Held, type Holdfast, type HoldfastOptions } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { connectClient, type ClientKind, type ConnectedClient } from '../../src/clients.ts'
import { sleep, startProxy, waitFor, type RedisServer, type TcpProxy } from '../../src/index.ts'

export interface SceneOptions extends Omit<HoldfastOptions, 'store' | 'prefix'> {
  /** Default ioredis. */
  readonly kind?: ClientKind
  /** Milliseconds between two tries of the client to reconnect. Default 10. */
  readonly reconnectAfter?: number
}

/** Shorter than the default, since `close` waits until what may still arrive cannot arrive any more. */
export const BUDGET_MS = 600

/** Who holds for 100 ms begins to listen; a hold of this long ends before that. */
const BRIEF_MS = 80

let scenes = 0

/**
 * One Holdfast instance whose only way to the server is a proxy, and a look at the server past the proxy. Each has a prefix
 * of its own.
 */
export class Scene {
  readonly server: RedisServer
  readonly proxy: TcpProxy
  readonly client: ConnectedClient
  readonly hf: Holdfast
  readonly prefix: string
  readonly #options: SceneOptions
  readonly #ends: (() => unknown)[] = []

  private constructor(
    server: RedisServer,
    proxy: TcpProxy,
    client: ConnectedClient,
    prefix: string,
    options: SceneOptions,
  ) {
    this.server = server
    this.proxy = proxy
    this.client = client
    this.prefix = prefix
    this.#options = options
    const { kind: _kind, reconnectAfter: _reconnectAfter, ...rest } = options
    this.hf = this.#holdfast(client, { budget: BUDGET_MS, ...rest })
  }

  static async open(server: RedisServer, options: SceneOptions = {}): Promise<Scene> {
    const proxy = await startProxy({ target: server, record: true })
    const { kind = 'ioredis', reconnectAfter = 10 } = options
    const client = await connectClient(kind, proxy.url, { reconnectAfter })
    return new Scene(server, proxy, client, `scene${(scenes += 1)}:v1`, options)
  }

  /** A further process; its way to the server is the proxy's (`viaProxy`) or a straight one. */
  async another({ viaProxy = false } = {}): Promise<Holdfast> {
    const kind = this.#options.kind ?? 'ioredis'
    const client = await connectClient(kind, viaProxy ? this.proxy.url : this.server.url)
    this.#ends.push(() => client.close())
    const hf = this.#holdfast(client, { budget: this.budget })
    this.#ends.push(() => hf.close())
    return hf
  }

  /** So that the server's time is known to us, our scripts to the server, and the next call is a single command. */
  async warmUp(): Promise<void> {
    await this.holdBriefly('warm-up', (held) => held.extend('1m'))
    this.proxy.resetCounts()
  }

  /**
   * Holds a free lock for a moment, and resolves with its owner when this process does not listen, as it would after a longer hold on a busy
   * machine: whoever begins to wait then subscribes anew.
   */
  async holdBriefly(name: string, during?: (held: Held) => Promise<unknown>): Promise<string> {
    const hold = async (): Promise<string | null> => {
      const began = performance.now()
      const held = await this.hf.lock(name).acquire()
      try {
        await during?.(held)
      } finally {
        await held.release()
      }
      return performance.now() - began < BRIEF_MS ? held.owner : null
    }
    // Within the scene's budget a busy machine may not manage it at once.
    const owner = await waitFor(hold, { what: 'a brief hold' })
    const silent = (): boolean => this.proxy.connections.every(({ subscribed }) => !subscribed)
    await waitFor(silent, { what: 'the process not to listen' })
    return owner
  }

  /** Until the process that holds this hears at once what befalls it, and has looked whether it was there when that began. */
  async untilListening(held: Held): Promise<void> {
    const channel = `${this.prefix}:wake:${held.owner.slice(0, 14)}`
    await waitFor(
      async () => ((await this.server.command('PUBSUB', 'NUMSUB', channel)) as unknown[])[1] === 1,
      { what: 'the holder to listen' },
    )
    // Whoever begins to listen looks whether its lock is still there. By then that has been answered, too.
    await sleep(100)
    await held.extend('1m')
  }

  /** Milliseconds for one operation. */
  get budget(): number {
    return Number(this.#options.budget ?? BUDGET_MS)
  }

  key(name: string): string {
    return `${this.prefix}:{${name}}:lock`
  }

  /** The lock's value on the server. */
  async value(name: string): Promise<string | null> {
    return (await this.server.command('GET', this.key(name))) as string | null
  }

  /** The owner in the lock's value. */
  async owner(name: string): Promise<string | null> {
    const value = await this.value(name)
    return value === null ? null : (value.split('#')[0] ?? null)
  }

  /** Milliseconds left on the server; negative when there is no key (-2) or no expiry (-1). */
  async left(name: string): Promise<number> {
    return (await this.server.command('PTTL', this.key(name))) as number
  }

  /** The last fence that was used. */
  async lastFence(): Promise<bigint> {
    return BigInt((await this.server.command('GET', `${this.prefix}:fence`)) as string)
  }

  /** Every key under the prefix but the last fence's. */
  async keys(): Promise<string[]> {
    const keys = (await this.server.command('KEYS', `${this.prefix}:*`)) as string[]
    return keys.filter((key) => key !== `${this.prefix}:fence`)
  }

  /** Takes everything down, whatever state it is in. The server stays. */
  async end(): Promise<void> {
    this.server.resume()
    await this.proxy.heal()
    await this.hf.close()
    for (const end of this.#ends.reverse()) await end()
    this.client.close()
    await this.proxy.close()
  }

  #holdfast(client: ConnectedClient, options: HoldfastOptions): Holdfast {
    return createHoldfast({ ...options, prefix: this.prefix, store: redisStore(client.client) })
  }
}
