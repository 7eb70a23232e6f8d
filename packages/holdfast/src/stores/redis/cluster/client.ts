import type { RedisPort } from '../port.ts'

/** Where a node listens, as text: `host:port`. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** A connection of ours to one node. */
export interface NodeConnection {
  readonly port: RedisPort
  /** Ends it; what is in flight is rejected, and may have been done. */
  close(): void
}

/**
 * What we need of a cluster's client: not its routing, which sends again by itself what must not be sent again, but where it
 * begins, and connections that are made as its own are.
 */
export interface ClusterClient {
  readonly client: RedisPort['client']
  /** Whether {@link seeds} and {@link connect} can be used. */
  readonly ready: boolean
  /** As {@link RedisPort.whenReady}. */
  whenReady(until: number): Promise<void>
  /** Nodes that the client knows, as they are reached. At least one when it is ready. */
  seeds(): readonly NodeAddress[]
  /** How a node is reached that the cluster calls so. */
  reachedAt(announced: NodeAddress): NodeAddress
  /** Opens a connection to a node; it is opened again whenever it was lost, until it is closed. */
  connect(address: NodeAddress): NodeConnection
  /** Opens a connection for sharded subscriptions. It is not opened again when it was lost. */
  listenAt(address: NodeAddress, listener: ShardListener): ShardConnection
  onEnd(listener: () => void): void
  detach(): void
}

/** A connection for sharded subscriptions at one node. */
export interface ShardConnection {
  /** Rejects when the server does not let us; once the listener was told that it is ready. */
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): void
  close(): void
}

/** Hears of such a connection. */
export interface ShardListener {
  readonly ready: () => void
  /** May be called again, and after it was closed. */
  readonly lost: () => void
  readonly message: (text: string) => void
}

export const textOf = ({ host, port }: NodeAddress): string => `${host}:${port}`

/** The address in a text; an IPv6 host has colons of its own. */
export function addressOf(text: string): NodeAddress {
  const colon = text.lastIndexOf(':')
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) }
}

/** An address as a table or a function of the user's says it is reached; as it is where they say nothing. */
export function mapped(map: unknown, address: NodeAddress): NodeAddress {
  const found: unknown =
    typeof map === 'function'
      ? (map as (address: string) => unknown)(textOf(address))
      : typeof map === 'object' && map !== null
        ? (map as Record<string, unknown>)[textOf(address)]
        : null
  if (typeof found !== 'object' || found === null) return address
  const { host, port } = found as { host?: unknown; port?: unknown }
  return typeof host === 'string' && typeof port === 'number' ? { host, port } : address
}
