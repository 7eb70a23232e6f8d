import { cpus } from 'node:os'
import type { RedisServer } from '../../packages/lab/src/index.ts'

/** What the figures were taken on. Nothing that tells whose machine it is. */
export interface Machine {
  readonly cores: number
  readonly model: string
  readonly node: string
  readonly redis: string
}

export async function machineOf(redis: RedisServer): Promise<Machine> {
  const { redis_version: version = 'unknown' } = await redis.info('server')
  const all = cpus()
  return {
    cores: all.length,
    model: all[0]?.model.trim() ?? 'unknown',
    node: process.version,
    redis: version,
  }
}
