import { blockingPop } from './blocking-pop.ts'
import type { ContenderKind } from './contender.ts'
import { holdfast, holdfastOnNodeRedis } from './holdfast.ts'
import { raw, rawAutoPipelining, rawOnNodeRedis } from './raw.ts'
import { redisSemaphore } from './redis-semaphore.ts'
import { redlock4, redlock5, sesamecareRedlock } from './redlock.ts'
import { verrou } from './verrou.ts'

/** All contenders, by the names that reports use. */
export const contenders = {
  holdfast,
  'holdfast on node-redis': holdfastOnNodeRedis,
  raw,
  'raw with auto-pipelining': rawAutoPipelining,
  'raw node-redis': rawOnNodeRedis,
  'blocking pop': blockingPop,
  'redlock 4': redlock4,
  'redlock 5 beta': redlock5,
  '@sesamecare-oss/redlock': sesamecareRedlock,
  'redis-semaphore': redisSemaphore,
  '@verrou/core': verrou,
} satisfies Record<string, ContenderKind>

export type ContenderName = keyof typeof contenders

export const peers: readonly ContenderName[] = [
  'redlock 4',
  'redlock 5 beta',
  '@sesamecare-oss/redlock',
  'redis-semaphore',
  '@verrou/core',
]
