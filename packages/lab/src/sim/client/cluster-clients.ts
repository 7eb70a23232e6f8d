import type { ClusterPaths } from '../cluster/paths.ts'
import { Emitter } from '../network/emitter.ts'
import type { Role } from '../network/link.ts'
import { SimIoredis } from './ioredis.ts'
import { SimNodeRedis, type ReconnectStrategy } from './node-redis.ts'
import type { ClientParts } from './redis-client.ts'

/** What a client of a cluster is made with. */
export interface ClusterParts {
  readonly parts: Omit<ClientParts, 'path'>
  readonly paths: ClusterPaths
}

interface Address {
  readonly host: string
  readonly port: number
}

const addressOf = (text: string): Address => {
  const [host = '', port = ''] = text.split(':')
  return { host, port: Number(port) }
}

/**
 * A Cluster of ioredis, as far as it is asked for anything: it knows nodes, and duplicates connections to them. Its own routing is never
 * used.
 */
export class SimIoredisCluster extends Emitter {
  readonly isCluster = true
  readonly status = 'ready'
  readonly options = {}
  readonly lastExecuted = null
  readonly connections = 0
  /** All connections that were ever made. */
  readonly subscribers: SimIoredis[] = []
  readonly #made: ClusterParts

  constructor(made: ClusterParts) {
    super()
    this.#made = made
  }

  nodes(): readonly unknown[] {
    return this.#made.paths.addresses.map((address) => ({
      options: addressOf(address),
      duplicate: (options: Address) => this.#open(options),
    }))
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  #open(options: Address & { readonly maxRetriesPerRequest?: number }): SimIoredis {
    const path = this.#made.paths.to(`${options.host}:${options.port}`)
    // Ours for channels of names say nothing of retries: they hold no command that matters.
    const role: Role = options.maxRetriesPerRequest === undefined ? 'channels' : 'commands'
    return new SimIoredis({ ...this.#made.parts, path }, options, { by: this, role })
  }
}

/** The same of node-redis. */
export class SimNodeRedisCluster extends Emitter {
  readonly isOpen = true
  readonly lastExecuted = null
  readonly connections = 0
  readonly subscribers: SimNodeRedis[] = []
  readonly #made: ClusterParts

  constructor(made: ClusterParts) {
    super()
    this.#made = made
  }

  get masters(): readonly object[] {
    return this.#made.paths.addresses.map((address) => ({
      ...addressOf(address),
      client: {
        options: {},
        duplicate: (options: { readonly socket: Socket }) => this.#open(options.socket),
      },
    }))
  }

  nodeClient(): Promise<never> {
    return Promise.reject(new Error('every node has a client already'))
  }

  #open({ host, port, reconnectStrategy }: Socket): SimNodeRedis {
    const path = this.#made.paths.to(`${host}:${port}`)
    const role: Role = reconnectStrategy === false ? 'channels' : 'commands'
    return new SimNodeRedis({ ...this.#made.parts, path }, { by: this, role, reconnectStrategy })
  }
}

interface Socket extends Address {
  readonly reconnectStrategy: ReconnectStrategy
}
