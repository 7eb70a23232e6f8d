import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownFolder, removeFolder } from '../../packages/lab/src/index.ts'
import type { Bench } from '../bench.ts'
import { now } from '../client/clock.ts'
import type { TurnsWish } from '../client/turns.ts'
import type { ContenderName } from '../contenders/index.ts'
import { PATIENCE_MS, withPatience } from '../measurements.ts'
import { readTurns } from '../turn-log.ts'
import { countOverlaps, inOrder, type Crowd, type Turns } from '../turns.ts'

/** Until all processes have heard when they begin, in milliseconds. */
const LEAD = 60

export interface SliceWish {
  readonly work: number
  readonly warmUp: number
  readonly slice: number
  /** Where the CPU profile of the first process goes. Default: none is taken. */
  readonly profile?: string
  /** Is called with the times, by `now`, between which turns are counted. Default: nothing more is measured. */
  readonly meanwhile?: (from: number, to: number) => Promise<void>
}

/** Where a crowd takes turns at one name, and where it is seen whether two ever had it at once. */
export class Arena {
  readonly #bench: Bench
  readonly #crowd: Crowd
  readonly #folder = ownFolder('turns')
  readonly #open = new Set<ContenderName>()
  /** How often two had the name at once, in all slices so far. */
  readonly overlaps = new Map<ContenderName, number>()

  constructor(bench: Bench, crowd: Crowd) {
    this.#bench = bench
    this.#crowd = crowd
  }

  /** Connects the contender's processes, to the server or to a proxy before it. */
  async open(contender: ContenderName, url = this.#bench.redis.url): Promise<void> {
    const { processes, waiters } = this.#crowd
    await this.#bench.open(contender, { count: processes, waiters, url })
    this.#open.add(contender)
  }

  /** All processes begin at the same time and end at the same time. */
  async take(
    contender: ContenderName,
    { work, warmUp, slice, profile, meanwhile }: SliceWish,
  ): Promise<Turns> {
    const { processes, waiters } = this.#crowd
    const clients = await this.#bench.fleet.clients(contender, processes)
    const name = this.#bench.freshName()
    await clients[0]?.call('prepare', name)
    const startAt = now() + LEAD
    const stopAt = startAt + warmUp + slice
    const files = clients.map((_, i) => join(this.#folder, `${i}`))
    const taken = clients.map((client, i) => {
      const wish: TurnsWish = { name, waiters, work, startAt, stopAt, file: files[i] as string }
      const profiled = i === 0 && profile !== undefined
      return profiled ? client.call('profiledTurns', { ...wish }, profile) : client.call('turns', { ...wish })
    })
    const everything = Promise.all([...taken, meanwhile?.(startAt + warmUp, stopAt)])
    await withPatience(everything, LEAD + warmUp + slice + PATIENCE_MS)
    const turns = files.flatMap((file, process) => readTurns(process, readFileSync(file)))
    const ordered = inOrder(turns, startAt + warmUp, stopAt)
    this.overlaps.set(contender, (this.overlaps.get(contender) ?? 0) + countOverlaps(ordered.all))
    return ordered
  }

  /** Connections of a load shall not burden the next one. */
  async close(): Promise<void> {
    for (const contender of this.#open) {
      const clients = await this.#bench.fleet.clients(contender, 0)
      await Promise.all(clients.map((client) => client.call('close').catch(() => undefined)))
    }
    removeFolder(this.#folder)
  }
}
