import { createHoldfast, type Holdfast, type HoldfastOptions } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { expect } from 'vitest'
import {
  connectCluster,
  type ClientKind,
  type ClusterSeed,
  type ConnectClusterOptions,
  type ConnectedCluster,
} from '../../src/clients.ts'
import type { RedisCluster, RedisServer, TcpProxy } from '../../src/index.ts'

let scenes = 0

/** Holdfast instances on a cluster, each over a client of its own, under a prefix of their own; with `proxies` by way of these. */
export class ClusterScene {
  readonly cluster: RedisCluster
  readonly prefix = `scene${(scenes += 1)}-${process.pid}:v1`
  readonly #kind: ClientKind
  #seeds: readonly ClusterSeed[] | null = null
  #options: ConnectClusterOptions = {}
  readonly #ends: (() => unknown)[] = []

  constructor(cluster: RedisCluster, kind: ClientKind, proxies?: ReadonlyMap<RedisServer, TcpProxy>) {
    this.cluster = cluster
    this.#kind = kind
    if (proxies === undefined) return
    this.#seeds = [...proxies.values()].map(({ host, port }) => ({ host, port }))
    const reachedAt: Record<string, ClusterSeed> = {}
    for (const [node, { host, port }] of proxies) reachedAt[`${node.host}:${node.port}`] = { host, port }
    this.#options = { reachedAt }
  }

  /** A further process. */
  async holdfast(options: HoldfastOptions = {}): Promise<Holdfast> {
    const client = await this.client()
    const hf = createHoldfast({ prefix: this.prefix, store: redisStore(client.client), ...options })
    this.#ends.push(() => hf.close())
    return hf
  }

  async client(): Promise<ConnectedCluster> {
    const client = await connectCluster(this.#kind, this.#seeds ?? this.cluster.addresses, this.#options)
    this.#ends.push(() => client.close())
    return client
  }

  key(name: string): string {
    return `${this.prefix}:{${name}}:lock`
  }

  /** Where a name lies now, and where it could go. */
  async place(name: string): Promise<{ slot: number; owner: RedisServer; other: RedisServer }> {
    const slot = await this.cluster.slotOf(this.key(name))
    const owner = await this.cluster.ownerOf(slot)
    return { slot, owner, other: await this.cluster.otherThan(owner) }
  }

  async value(name: string): Promise<unknown> {
    return this.cluster.command(this.key(name), 'GET', this.key(name))
  }

  async left(name: string): Promise<number> {
    return (await this.cluster.command(this.key(name), 'PTTL', this.key(name))) as number
  }

  /** Closes everything, and looks that nothing is left of it: no key without an expiry, no lock, no subscription. */
  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end()
    const keys = await this.cluster.keys(`${this.prefix}:`)
    for (const key of keys) {
      expect([key, await this.cluster.command(key, 'PTTL', key)]).not.toEqual([key, -1])
    }
    expect(keys.filter((key) => key.endsWith(':lock'))).toEqual([])
    for (const node of await this.cluster.primaries()) {
      const { errorstat_CROSSSLOT: crossed } = await node.info('errorstats')
      expect(crossed).toBeUndefined()
    }
  }
}

/** The channels that anybody listens to, on any node. */
export async function channelsOf(cluster: RedisCluster, prefix: string): Promise<string[]> {
  const found: string[] = []
  for (const node of cluster.nodes.filter(({ running }) => running)) {
    found.push(...((await node.command('PUBSUB', 'CHANNELS', `${prefix}:*`)) as string[]))
    found.push(...((await node.command('PUBSUB', 'SHARDCHANNELS', `${prefix}:*`)) as string[]))
  }
  return found
}
