import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  InvalidArgumentError,
  type LossReason,
  type OnceKey,
  type OutcomeUnknownReason,
  type SlotLossReason,
} from '../errors.ts'
import type { DecisionSource } from '../limit/decision.ts'
import { checkFunction } from '../options.ts'

/** What every event about a lock says. Names are payload and must not become labels of a metric. */
interface LockEvent {
  readonly lock: string
  /** The key on the store. */
  readonly key: string
  readonly owner: string
}

/** How a call of `run` ended. */
export type OnceOutcomeKind =
  | 'ran'
  | 'replayed'
  | 'freed'
  | 'in-progress'
  | 'mismatch'
  | 'unknown'
  | 'unprotected'
  | 'aborted'
  | 'closed'
  | 'failed'

/** What every event about one subject of a limiter says. Subjects are payload and must not become labels of a metric. */
interface LimitEvent {
  readonly limiter: string
  readonly subject: string
}

/** The events of the library: channel of `node:diagnostics_channel` → payload, which JSON can hold. */
export interface HoldfastEvents {
  /** A lock was granted. Times in milliseconds; the fence in digits. */
  'holdfast:lock:acquired': LockEvent & { fence: string; waited: number; ttl: number; trace: string | null }
  /** A caller stopped waiting, whatever the end. */
  'holdfast:lock:waited': {
    lock: string
    key: string
    waited: number
    outcome: 'acquired' | 'timeout' | 'aborted' | 'closed' | 'failed'
    holder: string | null
  }
  /** A holder was told that its lock is lost. Once per lease. */
  'holdfast:lock:lost': LockEvent & { fence: string; reason: LossReason; held: number; trace: string | null }
  /** A lock was given back. `confirmed` is false when an earlier, unanswered release did it, or it was handed on without asking the store. */
  'holdfast:lock:released': LockEvent & {
    fence: string
    held: number
    confirmed: boolean
    trace: string | null
  }
  /** A release failed; the key ends by its expiry, or by a repeated release. */
  'holdfast:lock:release-failed': LockEvent & { fence: string; reason: string }
  /** A release found another owner and changed nothing. */
  'holdfast:lock:foreign-release': LockEvent & { holder: string }
  /** One try to renew failed; the lock is still held until its deadline. */
  'holdfast:lock:renew-failed': LockEvent & { fence: string; reason: string; remaining: number }
  /** The fence of a grant leads the server's clock by more than a second (or more than an hour): the clock was stepped back. */
  'holdfast:fence:leads-clock': {
    lock: string
    key: string
    fence: string
    leadMs: number
    level: 'second' | 'hour'
  }
  /** A guard refused a write whose fence is stale. Fences in digits; `guard` is where the resource lies. */
  'holdfast:fence:refused': {
    guard: 'postgres' | 'mysql' | 'sqlite' | 'redis'
    resource: string
    lock: string | null
    fence: string
    accepted: string
  }
  /** A limiter decided about a take, whoever decided. With `wouldDeny` it is in shadow mode and let the call through. */
  'holdfast:limit:decided': LimitEvent & {
    cost: number
    allowed: boolean
    wouldDeny: boolean
    never: boolean
    remaining: number
    limit: number
    retryAfter: number | null
    policy: string
    source: DecisionSource
  }
  /** A call stopped waiting for capacity, whatever the end. */
  'holdfast:limit:waited': LimitEvent & {
    cost: number
    waited: number
    outcome: 'allowed' | 'timeout' | 'never' | 'queue-full' | 'aborted' | 'closed' | 'failed'
  }
  /** The store stopped answering a limiter's decisions, or answers again. Once per change; `policy` is its `onStoreError`. */
  'holdfast:limit:store-state': {
    limiter: string
    store: string
    state: 'down' | 'up'
    policy: 'throw' | 'deny' | 'allow' | 'local'
    reason: string | null
  }
  /** The holder of a slot was told that it is lost. Once per slot. */
  'holdfast:limit:slot-lost': LimitEvent & { reason: SlotLossReason; held: number }
  /**
   * A call of `run` ended. `ran`: its work ran, and its outcome is stored; `freed`: its work ran and failed, and the key is free;
   * `unprotected`: its work ran without the store. Times in milliseconds.
   */
  'holdfast:once:outcome': OnceKey & {
    outcome: OnceOutcomeKind
    reason: OutcomeUnknownReason | null
    attempt: number | null
    took: number
  }
  /**
   * Another server answers than before, or the same one was started anew; run ids and replication ids as in INFO. Whoever holds a lock asks
   * at once whether it still stands.
   */
  'holdfast:store:epoch': {
    store: string
    server: string
    previous: string
    copies: string | null
    previousCopies: string | null
  }
  /** The server's clock and ours moved apart by so many milliseconds since its last answer; positive: it was stepped forward. */
  'holdfast:store:clock-jump': { store: string; jumpMs: number }
  /** The store failed or refused. */
  'holdfast:store:error': {
    store: string
    operation: string
    reason: string
    outcome: 'not-done' | 'unknown'
  }
}

/** The name of an event. */
export type HoldfastEventName = keyof HoldfastEvents

/** A channel of one event. */
interface EventChannel<N extends HoldfastEventName> {
  readonly name: string | symbol
  readonly hasSubscribers: boolean
  publish(event: HoldfastEvents[N]): void
}

const open = <N extends HoldfastEventName>(name: N): EventChannel<N> => channel(name)

/**
 * The one place where things are told. A publisher asks `hasSubscribers` before it builds a payload, so that nothing is
 * paid when nobody listens.
 */
export const events = {
  acquired: open('holdfast:lock:acquired'),
  waited: open('holdfast:lock:waited'),
  lost: open('holdfast:lock:lost'),
  released: open('holdfast:lock:released'),
  releaseFailed: open('holdfast:lock:release-failed'),
  foreignRelease: open('holdfast:lock:foreign-release'),
  renewFailed: open('holdfast:lock:renew-failed'),
  fenceLeadsClock: open('holdfast:fence:leads-clock'),
  fenceRefused: open('holdfast:fence:refused'),
  limitDecided: open('holdfast:limit:decided'),
  limitWaited: open('holdfast:limit:waited'),
  limitStoreState: open('holdfast:limit:store-state'),
  slotLost: open('holdfast:limit:slot-lost'),
  onceOutcome: open('holdfast:once:outcome'),
  storeEpoch: open('holdfast:store:epoch'),
  clockJump: open('holdfast:store:clock-jump'),
  storeError: open('holdfast:store:error'),
} as const

/**
 * Listens to one event, of every Holdfast instance and copy in this process. Costs nothing on the store.
 *
 * @returns a function that stops listening
 * @throws InvalidArgumentError for an event that does not exist, or a handler that is no function
 */
export function listen<N extends HoldfastEventName>(
  name: N,
  handler: (event: HoldfastEvents[N]) => void,
): () => void {
  checkName(name)
  checkFunction(handler, 'handler', '(event) => log.warn(event)')
  const onMessage = (message: unknown): void => handler(message as HoldfastEvents[N])
  subscribe(name, onMessage)
  return () => {
    unsubscribe(name, onMessage)
  }
}

function checkName(name: unknown): void {
  const names: readonly unknown[] = Object.values(events).map((each) => each.name)
  if (names.includes(name)) return
  throw new InvalidArgumentError('name', name, {
    problem: 'is no event',
    remedy: `There are: ${names.join(', ')}.`,
  })
}
