import { createHoldfast, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { HistoryRecorder, type HistoryLog, type Randomness, type RecordedHold } from 'holdfast/testing'
import { Dice } from '../dice.ts'
import { ClusterPaths } from '../cluster/paths.ts'
import type { Path } from '../network/path.ts'
import type { ClientPlan } from '../plan/plan.ts'
import { inWorldTime, type WorldHold } from '../world/recorded.ts'
import { SimIoredisCluster, SimNodeRedisCluster } from './cluster-clients.ts'
import { SimIoredis } from './ioredis.ts'
import { SimNodeRedis } from './node-redis.ts'
import type { ClientProcess } from './process.ts'
import type { ClientParts, SentListener } from './redis-client.ts'

function clientOver(
  path: Path | ClusterPaths,
  family: ClientPlan['family'],
  parts: Omit<ClientParts, 'path'>,
): Client['redis'] {
  if (path instanceof ClusterPaths) {
    const made = { parts, paths: path }
    return family === 'ioredis' ? new SimIoredisCluster(made) : new SimNodeRedisCluster(made)
  }
  return family === 'ioredis' ? new SimIoredis({ ...parts, path }) : new SimNodeRedis({ ...parts, path })
}

/** A process that uses the library: the shipped code, over a client that behaves as one of the real ones. */
export class Client {
  readonly process: ClientProcess
  readonly path: Path | ClusterPaths
  readonly recorder: HistoryRecorder
  readonly redis: SimIoredis | SimNodeRedis | SimIoredisCluster | SimNodeRedisCluster
  readonly hf: Holdfast
  readonly budget: number
  /** Holds whose deadlines are looked at after each reply: by then they may have moved. */
  readonly #holds = new Map<RecordedHold<WorldHold>, number>()
  /** What every owner of this process begins with. */
  ownersBegin = ''
  /** How many times takes were asked again. */
  recounts = 0
  /** Callers that have not done yet. */
  working = 0
  closing = false
  closed = false

  constructor(parts: {
    process: ClientProcess
    path: Path | ClusterPaths
    family: ClientPlan['family']
    budget: number
    reopenDelay: number | undefined
    tells: boolean
    log: HistoryLog
    seed: number
    onSent: SentListener
    onReply: (client: Client) => void
  }) {
    const { process, path, budget, log } = parts
    this.process = process
    this.path = path
    this.budget = budget
    this.recorder = new HistoryRecorder({
      process: process.name,
      log,
      clock: process.clock,
      time: () => process.time,
      lookEvery: 0,
    })
    const { reopenDelay, tells } = parts
    this.redis = clientOver(path, parts.family, {
      process,
      tells,
      onSent: parts.onSent,
      onReply: () => parts.onReply(this),
    })
    const { randomness: dice } = new Dice(parts.seed)
    const randomness: Randomness = {
      fraction: () => dice.fraction(),
      id: (length) => {
        const id = dice.id(length)
        // The first that is asked for names the process as a holder of locks.
        this.ownersBegin ||= id
        return id
      },
    }
    const store = redisStore(this.redis, reopenDelay === undefined ? {} : { reopenDelay })
    this.hf = createHoldfast({ store, clock: process.clock, randomness, budget })
  }

  /** Closes the library, as the process itself does. */
  async close(options: { release?: boolean }): Promise<void> {
    this.closing = true
    const budget = inWorldTime(2 * this.budget, this.process.clock.rate)
    await this.recorder.call('close', { budget }, () => this.hf.close(options))
    this.closed = true
  }

  watch(hold: RecordedHold<WorldHold>): void {
    this.#holds.set(hold, hold.look() ?? Infinity)
  }

  unwatch(hold: RecordedHold<WorldHold>): void {
    this.#holds.delete(hold)
  }

  /** Notes deadlines that have moved. One whose time is over is left alone: asking would tell the holder of its loss. */
  look(): void {
    for (const [hold, deadline] of this.#holds) {
      if (this.process.time >= deadline) continue
      const next = hold.look()
      if (next !== null && next !== deadline) this.#holds.set(hold, next)
    }
  }
}
