/**
 * The question "what if the server dies right after it granted?", asked again and again: one process is granted a lock, the server that
 * granted it is killed in that very moment, another takes its place, and a second process asks for the same lock.
 */

import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { createHoldfast, type Held, type Holdfast } from 'holdfast'
import { quorumStore } from 'holdfast/quorum'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { ownFolder, removeFolder } from '../servers/lifetime.ts'
import { startRedis, type RedisServer } from '../servers/redis.ts'
import { startReplicaSet, type ReplicaSet } from '../servers/replica-set.ts'
import { GuardedTable } from '../workers/guarded-table.ts'

/** How the lock is kept: on a primary as it is, acknowledged by all replicas, with `reopenDelay`, or on a quorum of three. */
export const DRILLS = ['plain', 'acknowledged', 'reopening', 'quorum'] as const
export type DrillName = (typeof DRILLS)[number]

/** The longest lag of a replica, in milliseconds; that of a round is drawn. */
const MOST_LAG = 30
/** Longer than any round, and not longer than a server stays shut. */
const TTL = 1_000
const REOPEN = { reopenDelay: TTL } as const
/** How long the second process tries. */
const TRIES_FOR = 250

/** What one round came to. Times in milliseconds of `performance.now()`. */
export interface DrillRound {
  /** When the first process was granted the lock; `null` when it was not, which is safe. */
  readonly granted: number | null
  /** When the first process's lease is over, by its own clock. */
  readonly leaseEnd: number
  /** When its server was dead, and when another stood in its place. */
  readonly killed: number
  readonly replaced: number
  /** When the second process had its answer. */
  readonly answered: number
  /** When the second process was granted the same lock while the first one's lease was not over; `null` when it was not. */
  readonly grantedAgain: number | null
  /** When the first process was told of its loss; `null` when it was not by the end of the round. */
  readonly told: number | null
  /** Writes of the first process at a table that checks fences, after the second one's: tried, and taken. */
  readonly lateWrites: number
  readonly staleWrites: number
}

/** The servers of one drill, and the two processes. */
interface Ground {
  readonly first: Holdfast
  readonly second: Holdfast
  /** Kills whoever granted. */
  strike(): Promise<void>
  /** Puts another in its place. */
  replace(): Promise<void>
  /** Makes everything whole for the next round. */
  mend(): Promise<void>
  close(): Promise<void>
}

/** One way of keeping a lock, drilled as often as wanted. */
export class Drill {
  readonly name: DrillName
  readonly #ground: Ground
  readonly #folder = ownFolder('drill')
  readonly #table = new GuardedTable(join(this.#folder, 'table.db'))
  #rounds = 0

  private constructor(name: DrillName, ground: Ground) {
    this.name = name
    this.#ground = ground
  }

  static async start(name: DrillName): Promise<Drill> {
    return new Drill(name, name === 'quorum' ? await quorumGround() : await setGround(name))
  }

  async round(): Promise<DrillRound> {
    const name = `drill-${(this.#rounds += 1)}`
    const { first, second } = this.#ground
    const held = await first
      .lock(name, { ttl: TTL, renew: false })
      .acquire({ wait: 5_000 })
      .catch(() => null)
    const granted = held === null ? null : performance.now()
    const leaseEnd = performance.now() + (held?.remaining() ?? 0)
    let told: number | null = null
    held?.signal.addEventListener('abort', () => (told = performance.now()))
    await this.#ground.strike()
    const killed = performance.now()
    await this.#ground.replace()
    const replaced = performance.now()
    const next = await second
      .lock(name, { ttl: TTL, renew: false })
      .acquire({ wait: TRIES_FOR })
      .catch(() => null)
    const answered = performance.now()
    const writes = held === null || next === null ? NO_WRITES : this.#writeLate(name, held, next)
    const twice = held !== null && next !== null && answered < leaseEnd
    await Promise.all([held?.release().catch(() => undefined), next?.release().catch(() => undefined)])
    await this.#ground.mend()
    return {
      granted,
      leaseEnd,
      killed,
      replaced,
      answered,
      grantedAgain: twice ? answered : null,
      told,
      ...writes,
    }
  }

  async close(): Promise<void> {
    await this.#ground.close()
    this.#table.close()
    removeFolder(this.#folder)
  }

  /** The second writes; then the first, who may not know yet that it lost the lock. */
  #writeLate(name: string, held: Held, next: Held): typeof NO_WRITES {
    const taken = this.#table.write(`${name} second`, next.fence)
    const stale = this.#table.write(`${name} first`, held.fence)
    return { lateWrites: 1, staleWrites: taken && stale ? 1 : 0 }
  }
}

const NO_WRITES = { lateWrites: 0, staleWrites: 0 }

function clientOf(url: string): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 5 })
  client.on('error', () => {})
  return client
}

/** A primary and two replicas that lag, behind an address that moves. */
async function setGround(name: DrillName): Promise<Ground> {
  const set: ReplicaSet = await startReplicaSet({ links: true })
  const clients: Redis[] = []
  const open = (options: RedisStoreOptions): Holdfast => {
    const client = clientOf(set.door.url)
    clients.push(client)
    return createHoldfast({ store: redisStore(client, options) })
  }
  const own = {
    plain: {},
    acknowledged: { acknowledge: { replicas: 2, of: 2 } },
    reopening: REOPEN,
    quorum: {},
  }[name]
  const first = open(own)
  // Whoever asks without acknowledgement finds what there is, and nothing else in its way.
  const second = open(name === 'acknowledged' ? {} : own)
  await untilOpen(first)
  await untilOpen(second)
  let primary = set.servers[0] as RedisServer
  let dead = primary
  set.lag(randomInt(MOST_LAG))
  return {
    first,
    second,
    strike: async () => {
      dead = primary
      await set.killPrimary(primary)
    },
    replace: async () => {
      const left = set.servers.filter((server) => server !== dead)
      primary = left[randomInt(left.length)] as RedisServer
      await set.promote(primary)
    },
    mend: async () => {
      await set.rejoin(dead)
      await untilOpen(first)
      set.lag(randomInt(MOST_LAG))
    },
    close: async () => {
      await Promise.all([first.close(), second.close()])
      for (const client of clients) client.disconnect()
      await set.stop()
    },
  }
}

/** Three servers that know nothing of each other. One that granted is killed, and comes back empty at once. */
async function quorumGround(): Promise<Ground> {
  const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
  const clients: Redis[] = []
  const open = (): Holdfast => {
    const stores = servers.map(({ url }) => {
      const client = clientOf(url)
      clients.push(client)
      return redisStore(client, REOPEN)
    })
    return createHoldfast({ store: quorumStore(stores, { fence: true }) })
  }
  const [first, second] = [open(), open()]
  await untilOpen(first)
  await untilOpen(second)
  let dead = servers[0]
  return {
    first,
    second,
    strike: async () => {
      dead = servers[randomInt(servers.length)] as RedisServer
      await dead.kill()
    },
    replace: () => dead.restart({ keepData: false }),
    mend: async () => {
      // Until the one that came back grants again; a majority grants at once.
      const alone = createHoldfast({ store: redisStore(clients[servers.indexOf(dead)] as Redis, REOPEN) })
      await untilOpen(alone)
      await alone.close()
    },
    close: async () => {
      await Promise.all([first.close(), second.close()])
      for (const client of clients) client.disconnect()
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/** Until the server grants. */
async function untilOpen(hf: Holdfast): Promise<void> {
  await (await hf.lock('drill-open', { ttl: TTL }).acquire({ wait: 20_000 })).release()
}
