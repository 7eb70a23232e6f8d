import type { Catching } from '../actor.ts'
import type { ProcessTraits } from '../client/process.ts'
import type { Role } from '../network/link.ts'
import type { Direction } from '../network/path.ts'
import type { Survival } from '../network/server-host.ts'
import type { Delay, Fate } from '../network/way.ts'

/**
 * All that is to happen in a world, drawn from a seed before it begins: so that parts can be taken away while the rest stays.
 * Times and lengths are milliseconds.
 */
export interface Plan {
  readonly seed: number
  readonly scenario: string
  /** Names of locks. */
  readonly names: readonly string[]
  /** Limiters that all processes share, each with one subject. */
  readonly limiters: readonly LimiterPlan[]
  /** What runs once: each is a key of its own, with all who share it. */
  readonly runs: readonly OncePlan[]
  /** Of one operation of the library. */
  readonly budget: number
  readonly server: { readonly rate: number; readonly offMillis: number }
  readonly delay: Delay
  readonly clients: readonly ClientPlan[]
  readonly faults: readonly Fault[]
  /** The clocks of the nodes of a cluster, which stand in place of the server. */
  readonly nodes?: readonly { readonly rate: number; readonly offMillis: number }[]
  /** Whether servers tell who they are. */
  readonly tells?: boolean
  /** For how long a server that may have forgotten something grants no lock. */
  readonly reopenDelay?: number
}

export interface ClientPlan {
  readonly family: 'ioredis' | 'node-redis'
  readonly traits: ProcessTraits
  readonly callers: readonly CallerPlan[]
}

/** A caller: it does one step after the other. */
export interface CallerPlan {
  readonly startsAt: number
  readonly steps: readonly Step[]
}

export type Step =
  | { readonly kind: 'pause'; readonly for: number }
  | LockStep
  | { readonly kind: 'force'; readonly name: number }
  | { readonly kind: 'inspect'; readonly name: number }
  | LimitStep
  | OnceStep

/** A lock is asked for, something is done under it, and it is given back. */
export interface LockStep {
  readonly kind: 'lock'
  readonly how: 'acquire' | 'try' | 'run'
  /** Which of the names. */
  readonly name: number
  readonly ttl: number
  readonly renew: boolean
  readonly maxHold: number | null
  readonly wait: number
  readonly retry: 'queue' | 'interval' | 'backoff'
  readonly abortAfter: number | null
  readonly work: readonly Work[]
  /** `leave`: it is not given back, and ends by itself. Only without renewal. */
  readonly ending: 'release' | 'release-twice' | 'leave'
}

export type Work =
  | { readonly kind: 'pause'; readonly for: number }
  /** The event loop is blocked. */
  | { readonly kind: 'block'; readonly for: number }
  | { readonly kind: 'assert' }
  | { readonly kind: 'extend'; readonly ttl: number }
  /** Sent to the guarded resource, where it arrives later. */
  | { readonly kind: 'write'; readonly delay: number }

export interface LimiterPlan {
  readonly kind: 'sliding' | 'fixed' | 'bucket' | 'slots'
  readonly limit: number
  /** The window; of a bucket the time in which it fills; of slots their lease. */
  readonly per: number
  /** How long denials are remembered; 0: not at all. */
  readonly rememberFor: number
  /** How many tokens a process takes at once; `null`: none in advance. */
  readonly lease: number | null
}

/** A limiter is asked, something is done, and what was taken is given back or not. */
export interface LimitStep {
  readonly kind: 'limit'
  readonly how: 'take' | 'peek' | 'wait' | 'reserve'
  /** Which of the limiters. */
  readonly limiter: number
  readonly cost: number
  readonly wait: number
  readonly abortAfter: number | null
  readonly hold: number
  /** What becomes of what was taken: it stays, is given back whole, or settled at `actual`. */
  readonly after: 'stay' | 'back' | 'settle'
  readonly actual: number
}

export interface OncePlan {
  readonly onAbandoned: 'fail' | 'retry'
  readonly lease: number
}

/** A key is run. */
export interface OnceStep {
  readonly kind: 'once'
  /** Which of the keys. */
  readonly run: number
  /** Which payload: two of the same key may differ. */
  readonly payload: number
  readonly wait: number
  /** How long the work takes, in parts; a negative part blocks the event loop for so long. */
  readonly work: readonly number[]
  /** `nothing`: an error that frees the key; `final`: one that is stored. */
  readonly ends: 'value' | 'nothing' | 'final'
  readonly abortAfter: number | null
  /** An operator decides about a key of which nobody knows what became of it. */
  readonly settles: boolean
}

export type ScriptName =
  | 'acquire'
  | 'release'
  | 'renew'
  | 'leave'
  | 'force'
  | 'inspect'
  | 'limit-count'
  | 'limit-recount'
  | 'limit-peek'
  | 'limit-renew'
  | 'once-claim'
  | 'once-renew'
  | 'once-complete'
  | 'once-free'
  | 'once-settle'

/** When a fault begins: at a time, or some time after a client has sent a request. */
export type Moment =
  | { readonly at: number }
  | { readonly client: number; readonly script: ScriptName; readonly nth: number; readonly after: number }

export type Fault = { readonly when: Moment } & FaultKind

export type FaultKind =
  /** `away`: for so long no new connection comes about. */
  | {
      readonly kind: 'reset'
      readonly client: number
      readonly roles: readonly Role[]
      readonly fate: Fate
      readonly away?: number
    }
  | { readonly kind: 'hold'; readonly client: number; readonly direction: Direction; readonly for: number }
  | { readonly kind: 'slow'; readonly client: number; readonly delay: Delay; readonly for: number }
  | { readonly kind: 'stop'; readonly client: number; readonly for: number; readonly catching: Catching }
  | { readonly kind: 'sleep'; readonly client: number; readonly for: number; readonly catching: Catching }
  | { readonly kind: 'step-wall'; readonly client: number; readonly by: number }
  | { readonly kind: 'kill'; readonly client: number; readonly restartAfter: number | null }
  | { readonly kind: 'close'; readonly client: number; readonly release: boolean }
  | { readonly kind: 'freeze'; readonly for: number }
  /** `lag`: for data as they were so long before it went down. */
  | { readonly kind: 'restart'; readonly for: number; readonly survival: Survival; readonly lag: number }
  /**
   * A replica that lags takes over, whose clock is off by so much; for so long nobody answers. With `split` the old server goes
   * on for that time, for these clients.
   */
  | {
      readonly kind: 'failover'
      readonly for: number
      readonly lag: number
      readonly by: number
      readonly split: readonly number[] | null
      /** How long ago the replica was started. Default: long ago. */
      readonly upFor?: number
      /** Whether the replica hands back at once to the old primary, which was its replica for that moment. */
      readonly fallsBack?: boolean
    }
  | { readonly kind: 'evict'; readonly what: 'lock' | 'fence' | 'queue'; readonly name: number }
  | { readonly kind: 'flush' }
  | { readonly kind: 'script-flush' }
  /** The slot of a lock goes to the next but so many of the other nodes, and is open for so long. */
  | { readonly kind: 'move-slot'; readonly name: number; readonly step: number; readonly for: number }
  /** The node that has a lock dies; its replica, which lags, takes over after so long. */
  | { readonly kind: 'node-dies'; readonly name: number; readonly for: number; readonly lag: number }
  | { readonly kind: 'node-freezes'; readonly name: number; readonly for: number }
  | { readonly kind: 'step-server'; readonly by: number }
  | { readonly kind: 'refuse'; readonly error: string; readonly for: number }
