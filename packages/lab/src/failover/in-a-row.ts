/**
 * Failovers one after the other, under one process that holds a lock and waits for another all the while: does it go on as on the first day, and does
 * anything pile up?
 */

import { createHoldfast, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { connectWatched, type ClientKind, type WatchedClient } from '../clients.ts'
import { KIT_USER } from '../servers/redis-config.ts'
import type { RedisServer } from '../servers/redis.ts'
import { startReplicaSet, type ReplicaSet } from '../servers/replica-set.ts'
import { waitFor } from '../wait.ts'

/** What one failover came to. Times in milliseconds. */
export interface FailoverRound {
  /** From the kill to the first write that the new primary took. */
  readonly writableAfter: number
  /** From that write until somebody who had waited since before was granted a free lock. */
  readonly servedAfter: number
  /** From the release of a lock that was held all the while until its waiter had it; `null` when it was lost meanwhile, and why. */
  readonly handedOnAfter: number | null
  readonly lost: string | null
  /** How often the sentinels switched since the round before, by their epoch. */
  readonly switches: number
  /** Listeners on both clients, their connections at the new primary and channels there, when all is quiet again. */
  readonly listeners: number
  readonly connections: number
  readonly channels: number
}

const OTHERS = new RegExp(`name=sentinel-|user=${KIT_USER}`)

const EVENTS = ['ready', 'end', 'error', 'close', 'connect', 'reconnecting', 'message', 'topology-change']

/** One process with two instances, over a set that three sentinels watch. */
export class FailoversInARow {
  readonly #set: ReplicaSet
  readonly #clients: readonly WatchedClient[]
  readonly #instances: readonly Holdfast[]
  #rounds = 0
  #epoch = 0

  private constructor(set: ReplicaSet, clients: readonly WatchedClient[]) {
    this.#set = set
    this.#clients = clients
    this.#instances = clients.map(({ client }) => createHoldfast({ store: redisStore(client) }))
  }

  static async start(kind: ClientKind): Promise<FailoversInARow> {
    const set = await startReplicaSet({ sentinels: 3, downAfter: 1_000, failoverTimeout: 1_500 })
    return new FailoversInARow(set, [await connectWatched(kind, set), await connectWatched(kind, set)])
  }

  /** Kills the primary, and puts it back as a replica when all went on. Rejects when something did not. */
  async round(): Promise<FailoverRound> {
    this.#rounds += 1
    const [one, other] = this.#instances as [Holdfast, Holdfast]
    const name = `held-${this.#rounds}`
    const held = await one.lock(name, { ttl: '30s' }).acquire({ wait: '5s' })
    const waiting = other.lock(name).acquire({ wait: '60s' })
    waiting.catch(() => undefined)
    await waitFor(async () => (await one.inspect(name))?.waiters === 1, { what: 'the waiter to stand' })
    await this.#set.untilInSync()
    const old = await this.#set.untilPrimary()
    const began = performance.now()
    await old.kill()
    let served = 0
    const free = other
      .lock(`free-${this.#rounds}`)
      .acquire({ wait: '60s' })
      .then((lock) => {
        served = performance.now()
        return lock.release()
      })
    await this.#set.untilPrimary({ than: old, within: 30_000 })
    const writable = performance.now()
    await free
    // Sentinels that hear too little of a busy machine switch again by themselves, and what is lost then is lost.
    await held.extend('30s').catch(() => undefined)
    const { lost } = held
    const released = performance.now()
    await held.release()
    const taken = await waiting
    const handedOn = performance.now()
    if (taken.fence <= held.fence) throw new Error(`fences fell in round ${this.#rounds}`)
    await taken.release()
    await this.#set.rejoin(old)
    await this.#set.untilWatched()
    const last = await this.#set.untilPrimary()
    // Whoever has only just become the primary is not known to them yet.
    await waitFor(async () => (await connectionsTo(last)) >= this.#clients.length, {
      what: 'the clients to be connected to the primary',
      within: 20_000,
    })
    const channels = await this.#untilQuiet(last)
    return {
      writableAfter: writable - began,
      servedAfter: Math.max(0, served - writable),
      handedOnAfter: lost === null ? handedOn - released : null,
      lost,
      switches: await this.#switches(),
      listeners: this.#listeners(),
      connections: await connectionsTo(last),
      channels,
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#instances.map((hf) => hf.close()))
    await Promise.all(this.#clients.map((client) => client.close()))
    await this.#set.stop()
  }

  /** Nobody waits and nobody holds: subscriptions go. How many channels are left. */
  async #untilQuiet(primary: RedisServer): Promise<number> {
    const channels = async (): Promise<number> =>
      ((await primary.command('PUBSUB', 'CHANNELS', 'holdfast:*')) as string[]).length
    await waitFor(async () => (await channels()) === 0, {
      what: 'no subscription to be left',
      within: 20_000,
    })
    return channels()
  }

  async #switches(): Promise<number> {
    const epochs = await Promise.all(
      this.#set.sentinels.map(async (sentinel) => {
        const words = (await sentinel.command('SENTINEL', 'MASTER', this.#set.name)) as string[]
        return Number(words[words.indexOf('config-epoch') + 1])
      }),
    )
    const before = this.#epoch
    this.#epoch = Math.max(...epochs)
    return this.#epoch - before
  }

  #listeners(): number {
    const counts = this.#clients.flatMap(({ client }) => {
      const emitter = client as unknown as { listenerCount(event: string): number }
      return EVENTS.map((event) => emitter.listenerCount(event))
    })
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

/** How many connections a server has, but for those of the sentinels and of the kit. */
async function connectionsTo(server: RedisServer): Promise<number> {
  const clients = (await server.command('CLIENT', 'LIST', 'TYPE', 'normal')) as string
  return clients.split('\n').filter((line) => line !== '' && !OTHERS.test(line)).length
}

/** The rounds as a table. */
export function tableOf(rounds: readonly FailoverRound[]): string {
  const ms = (value: number): string => `${Math.round(value)} ms`
  const rows = rounds.map((round, i) => [
    String(i + 1),
    ms(round.writableAfter),
    ms(round.servedAfter),
    round.handedOnAfter === null ? `lost: ${round.lost ?? ''}` : ms(round.handedOnAfter),
    String(round.switches),
    String(round.listeners),
    String(round.connections),
    String(round.channels),
  ])
  const head = [
    'failover',
    'new primary writes after',
    'waiter served after',
    'handed on after',
    'switches',
    'listeners',
    'connections',
    'channels',
  ]
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
