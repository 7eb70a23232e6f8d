import { blockingPop } from './blocking-pop.ts'
import type { ContenderKind } from './contender.ts'
import { holdfast, holdfastAcknowledged, holdfastOnNodeRedis } from './holdfast.ts'
import { limiters, type LimiterName } from './limits/index.ts'
import { guards, type GuardName } from './guards/index.ts'
import { onces, type OnceName } from './once/index.ts'
import { holdfastQuorum, holdfastQuorumWithFences, pairs, redlock5Quorum, redlockMutex } from './quorum.ts'
import { raw, rawAutoPipelining, rawOnNodeRedis } from './raw.ts'
import { redisSemaphore } from './redis-semaphore.ts'
import { redlock4, redlock5, sesamecareRedlock } from './redlock.ts'
import { verrou } from './verrou.ts'

/** All locks, by the names that reports use. */
export const contenders = {
  holdfast,
  'holdfast on node-redis': holdfastOnNodeRedis,
  'holdfast acknowledged': holdfastAcknowledged,
  'holdfast quorum': holdfastQuorum,
  'holdfast quorum with fences': holdfastQuorumWithFences,
  'five pairs': pairs,
  'redlock 5 beta on five': redlock5Quorum,
  'RedlockMutex on five': redlockMutex,
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

/** Those over several servers. */
export const quorumPeers: readonly ContenderName[] = ['redlock 5 beta on five', 'RedlockMutex on five']

/** A lock, a limiter, what runs work once, or what writes to a row: whoever has client processes. */
export type AnyName = ContenderName | LimiterName | OnceName | GuardName

export function isLimiter(name: AnyName): name is LimiterName {
  return name in limiters
}

export function isOnce(name: AnyName): name is OnceName {
  return name in onces
}

export function isGuard(name: AnyName): name is GuardName {
  return name in guards
}

export function roleOf(name: AnyName): 'ours' | 'floor' | 'peer' {
  if (isLimiter(name)) return limiters[name].role
  if (isGuard(name)) return guards[name].role
  return isOnce(name) ? onces[name].role : contenders[name].role
}
