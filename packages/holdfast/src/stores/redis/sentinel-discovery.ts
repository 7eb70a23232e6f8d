import type { Clock } from '../../clock.ts'
import { answered } from '../../answered.ts'
import type { NodeRedisLike } from './node-redis.ts'

/** How long a sentinel, or a server that it names, may take to connect and to answer, in milliseconds. */
const ANSWERED_WITHIN = 500

/** Where somebody listens. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** A set as its sentinels know it. */
interface Watched {
  readonly name: string
  readonly sentinels: readonly NodeAddress[]
}

/** What a sentinel takes for the primary, and since which epoch. */
interface Named {
  readonly epoch: number
  readonly at: NodeAddress
}

/** What we use of connections that a client duplicates. */
interface OwnClient extends NodeRedisLike {
  connect(): Promise<unknown>
  destroy(): void
  unref(): void
}

/**
 * Asks the sentinels of a set who the primary is, in the way in which they name a new one as soon as it was promoted; the client itself asks for
 * all that they know of the set, in which the old one stands until all replicas follow the new one. Connections to sentinels are made
 * as those to servers are, but for the login: sentinels that want one of their own are not asked.
 */
export class SentinelDiscovery {
  readonly #clock: Clock
  #watched: Watched | null = null
  /** Of the primary that we know. */
  #epoch = -1
  #learning = false
  readonly #connections = new Map<string, OwnClient>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the sentinels are known, so that {@link ask} can say anything. */
  get ready(): boolean {
    return this.#watched !== null
  }

  /**
   * Learns from a sentinel what it calls the set of a primary, and who watches over it besides. In the background; never rejects.
   *
   * @param sentinel the one that the client speaks to, `named` the primary as the client calls it
   */
  learn(
    primary: NodeRedisLike,
    sentinel: NodeAddress | undefined,
    named: NodeAddress | undefined,
  ): Promise<void> {
    const at = addressOf(primary)
    // Elsewhere than the sentinels say: a table of addresses that we do not have.
    const translated = at === null || named === undefined || textOf(at) !== textOf(named)
    if (this.#learning || sentinel === undefined || translated) return Promise.resolve()
    this.#learning = true
    return this.#learn(primary, sentinel, at)
      .catch(() => undefined)
      .finally(() => {
        this.#learning = false
        this.rest()
      })
  }

  /**
   * Connects to the primary that the sentinels name under a later epoch than the last one known; `null` when there is none, or it does not
   * answer as a primary. Of what several sentinels say the latest epoch counts, as among themselves: an old primary that was started again
   * is named by no sentinel under a later one.
   *
   * @param like a client that ours are made after
   */
  async ask(like: NodeRedisLike): Promise<NodeRedisLike | null> {
    const latest = await this.#latest(like)
    if (latest === null || latest.epoch <= this.#epoch) return null
    const found = await this.#connect(like, latest.at)
    if (found !== null) this.#epoch = latest.epoch
    return found
  }

  /** Whether a server is the one that the sentinels name; also when none of them answers. */
  async confirms(like: NodeRedisLike, at: NodeAddress): Promise<boolean> {
    const latest = await this.#latest(like)
    return latest === null || textOf(latest.at) === textOf(at)
  }

  /** Ends the connections to sentinels, until somebody asks again. */
  rest(): void {
    for (const connection of this.#connections.values()) end(connection)
    this.#connections.clear()
  }

  async #learn(primary: NodeRedisLike, sentinel: NodeAddress, at: NodeAddress): Promise<void> {
    const masters = fieldsOf(await this.#say(primary, sentinel, ['SENTINEL', 'MASTERS']))
    const ours = masters.find(({ ip, port }) => `${ip}:${port}` === textOf(at))
    if (ours?.['name'] === undefined) return
    const others = fieldsOf(await this.#say(primary, sentinel, ['SENTINEL', 'SENTINELS', ours['name']]))
    const sentinels = others.map(({ ip = '', port }) => ({ host: ip, port: Number(port) }))
    this.#watched = { name: ours['name'], sentinels: [sentinel, ...sentinels] }
    this.#epoch = Math.max(this.#epoch, Number(ours['config-epoch'] ?? 0))
  }

  /** The primary under the latest epoch that any sentinel tells of; `null` when none does. */
  async #latest(like: NodeRedisLike): Promise<Named | null> {
    const { name, sentinels } = this.#watched ?? { name: '', sentinels: [] }
    const told = await Promise.all(sentinels.map((sentinel) => this.#named(like, sentinel, name)))
    return told.reduce((best, each) => ((each?.epoch ?? -1) > (best?.epoch ?? -1) ? each : best), null)
  }

  /** In this order: an epoch that is a moment old makes nobody believe an address that is. */
  async #named(like: NodeRedisLike, sentinel: NodeAddress, name: string): Promise<Named | null> {
    const [set] = fieldsOf([await this.#say(like, sentinel, ['SENTINEL', 'MASTER', name])])
    const address = await this.#say(like, sentinel, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])
    const epoch = Number(set?.['config-epoch'])
    if (!Array.isArray(address) || !Number.isInteger(epoch)) return null
    return { epoch, at: { host: String(address[0]), port: Number(address[1]) } }
  }

  /** What a sentinel answers; `null` when it does not. */
  async #say(like: NodeRedisLike, at: NodeAddress, command: readonly string[]): Promise<unknown> {
    const until = this.#clock.monotonic() + ANSWERED_WITHIN
    let connection = this.#connections.get(textOf(at))
    if (connection?.isOpen !== true) {
      const login = { username: undefined, password: undefined, credentialsProvider: undefined, database: 0 }
      connection = duplicateAt(like, at, login, false)
      this.#connections.set(textOf(at), connection)
      connection.connect().catch(() => undefined)
    }
    while (!connection.isReady && connection.isOpen && this.#clock.monotonic() < until) await this.#pause(10)
    return connection.isReady ? answered(connection.sendCommand(command), this.#clock, until) : null
  }

  /** A client of a server, if that is a primary. */
  async #connect(like: NodeRedisLike, at: NodeAddress): Promise<NodeRedisLike | null> {
    const until = this.#clock.monotonic() + ANSWERED_WITHIN
    const client = duplicateAt(like, at, {})
    client.on('ready', () => client.unref())
    await answered(client.connect(), this.#clock, until)
    const role = client.isReady ? await answered(client.sendCommand(['ROLE']), this.#clock, until) : null
    if (Array.isArray(role) && String(role[0]) === 'master') return client
    end(client)
    return null
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimer(resolve, ms)
    })
  }
}

/** Where a client of a server is connected to; `null` when that is not told. */
export function addressOf(client: NodeRedisLike): NodeAddress | null {
  const { options } = client as { options?: { socket?: { host?: unknown; port?: unknown } } }
  const { host, port } = options?.socket ?? {}
  return typeof host === 'string' && typeof port === 'number' ? { host, port } : null
}

export const textOf = ({ host, port }: NodeAddress): string => `${host}:${port}`

/** Ends a connection of ours; one of the client's own is not to be handed over. */
export function end(client: NodeRedisLike): void {
  if (client.isOpen) (client as OwnClient).destroy()
}

/** @param reconnects `false`: it ends with its connection. When left out it does as the client's own. */
function duplicateAt(like: NodeRedisLike, at: NodeAddress, options: object, reconnects?: false): OwnClient {
  const { options: own } = like as { options?: { socket?: object } }
  const strategy = reconnects === false ? { reconnectStrategy: false } : {}
  const socket = { ...own?.socket, ...at, ...strategy }
  const client = like.duplicate({ disableOfflineQueue: true, ...options, socket }) as OwnClient
  client.on('error', () => undefined)
  return client
}

/** A list of records, each of which comes as a flat list of names and values, or under RESP3 as a map or an object. */
function fieldsOf(reply: unknown): Record<string, string>[] {
  if (!Array.isArray(reply)) return []
  return reply.map((record: unknown) => {
    const fields: Record<string, string> = {}
    for (const [name, value] of pairsIn(record)) fields[String(name)] = String(value)
    return fields
  })
}

function pairsIn(record: unknown): Iterable<readonly [unknown, unknown]> {
  if (record instanceof Map) return record
  if (!Array.isArray(record)) return Object.entries(record ?? {})
  return Array.from({ length: Math.floor(record.length / 2) }, (_, i) => [record[2 * i], record[2 * i + 1]])
}
