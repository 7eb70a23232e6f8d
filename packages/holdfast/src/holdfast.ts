import { answered } from './answered.ts'
import { checkStore as examine } from './check/check.ts'
import type { CheckReport } from './check/report.ts'
import { systemClock, systemRandomness, type Clock, type Randomness } from './clock.ts'
import { bounds, defaults } from './defaults.ts'
import { parseDuration, type Duration } from './duration.ts'
import { InvalidArgumentError } from './errors.ts'
import { kindOf } from './show.ts'
import { Idempotency } from './idempotency/idempotency.ts'
import { OnceEngine } from './idempotency/once-engine.ts'
import type { IdempotencyOptions } from './idempotency/options.ts'
import { LimitEngine } from './limit/limit-engine.ts'
import { Limiter } from './limit/limiter.ts'
import type { LimiterOptions } from './limit/options.ts'
import { LockEngine } from './lock/engine.ts'
import { forceRelease, inspectLock, type ForceReleaseResult, type LockInfo } from './lock/inspection.ts'
import { Lock } from './lock/lock.ts'
import { LockAll } from './lock/lock-all.ts'
import type { LockAllOptions } from './lock/lock-all-options.ts'
import { checkKey, type LockOptions } from './lock/options.ts'
import { Reentry } from './lock/reentry.ts'
import { checkPrefix, lockAddresses, type LockAddress } from './name.ts'
import { checkBoolean, checkMethods, checkOptions, checkSyncFunction } from './options.ts'
import { checkSignals, closeOnSignals } from './signals.ts'
import type { OpenStore, Primitive, Store, StoreTraits } from './store/contract.ts'
import type { Policy } from './store/limit/policy.ts'
import { memoryStore } from './stores/memory/index.ts'

/** What {@link createHoldfast} takes. */
export interface HoldfastOptions {
  /** What a store's function gives, as `redisStore(client)` or `postgresStore(pool)`. Default: in memory, for this instance only. */
  store?: Store
  /** Starts every key. Default `holdfast:v1`. */
  prefix?: string
  /** An older prefix that is held as well while a prefix changes in a rolling deployment. Twice the round trips. */
  alsoPrefix?: string
  /** The longest time for one operation on the store, its repeats included. 30 ms to 60 s; default 1 s. */
  budget?: Duration
  /** Signals on which everything is closed before the process ends by that signal, as `['SIGTERM']`. Default: none. */
  closeOn?: readonly NodeJS.Signals[]
  /** The trace id of the present flow, if there is one; written into the lock's value for whoever reads it. */
  traceId?: () => string | undefined
  /** Clocks and timers; for tests. */
  clock?: Clock
  /** Randomness; for tests. */
  randomness?: Randomness
}

/** What {@link Holdfast.check} uses for its own. */
const PROBE = 'holdfast-check'
const PROBE_CHARACTERS = 22

const OPTIONS = ['store', 'prefix', 'alsoPrefix', 'budget', 'closeOn', 'traceId', 'clock', 'randomness']

/**
 * Joins a store, a clock and the primitives. Makes no round trip.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function createHoldfast(options: HoldfastOptions = {}): Holdfast {
  return new Holdfast(options)
}

/** One instance: what it holds and waits for is one process to all others. */
export class Holdfast implements AsyncDisposable {
  /** What the store can and cannot do. */
  readonly traits: StoreTraits
  readonly #store: OpenStore
  readonly #engine: LockEngine
  readonly #limits: LimitEngine
  readonly #once: OnceEngine
  readonly #reentry = new Reentry()
  readonly #kind: string
  readonly #clock: Clock
  readonly #randomness: Randomness
  readonly #budget: number
  readonly #prefixes: readonly [string, ...string[]]
  readonly #stopListening: () => void
  #closing: Promise<void> | null = null

  /** Made by {@link createHoldfast}. */
  constructor(options: HoldfastOptions) {
    checkOptions(options, OPTIONS, 'createHoldfast')
    const { clock = systemClock, randomness = systemRandomness, traceId, closeOn = [] } = options
    const { prefix = defaults.prefix } = options
    const { budget: wish = defaults.budget } = options
    const budget = parseDuration(wish, 'budget', { min: bounds.minBudget, max: bounds.maxBudget })
    checkMethods(clock, ['monotonic', 'wall', 'setTimer', 'endOfTurn'], 'clock')
    checkMethods(randomness, ['fraction', 'id'], 'randomness')
    if (traceId !== undefined)
      checkSyncFunction(traceId, 'traceId', '() => trace.getActiveSpan()?.spanContext().traceId')
    this.#prefixes = checkPrefixes(options)
    const signals = checkSignals(closeOn)
    const store = options.store === undefined ? memoryStoreSaidAloud() : checkStore(options.store)
    this.traits = store.traits
    this.#kind = store.kind
    this.#clock = clock
    this.#randomness = randomness
    this.#budget = budget
    this.#store = store.open({ clock, randomness, prefixes: this.#prefixes })
    this.#engine = new LockEngine({
      store: this.#store.locks,
      storeKind: store.kind,
      canWake: store.traits.wake === 'push',
      fences: store.traits.fences,
      leaseClock: store.traits.clock,
      clock,
      randomness,
      budget,
      traceId: traceId ?? null,
    })
    const common = { storeKind: store.kind, clock, randomness, prefix, budget }
    this.#limits = new LimitEngine({ ...common, store: this.#store.limits })
    this.#once = new OnceEngine({ ...common, store: this.#store.once })
    this.#stopListening = closeOnSignals(signals, () => this.close())
  }

  /**
   * An exclusive lock by name. Makes no round trip.
   *
   * @throws InvalidArgumentError that names option, value and remedy
   */
  lock(name: string, options?: LockOptions): Lock {
    return new Lock({ engine: this.#engine, reentry: this.#reentry, prefixes: this.#prefixes }, name, options)
  }

  /**
   * Several exclusive locks at once: all of them or none, in an order in which nobody waits for each other. Makes no round trip.
   *
   * @throws InvalidArgumentError that names option, value and remedy; for no names, too many, or one that is there twice
   */
  lockAll(names: readonly string[], options?: LockAllOptions): LockAll {
    return new LockAll(
      { engine: this.#engine, reentry: this.#reentry, prefixes: this.#prefixes },
      names,
      options,
    )
  }

  /**
   * Limits by subject, under one policy or several that are decided together: all admit and count a call, or none counts it.
   * Makes no round trip. Limiters of one name share their state, so it may be called again for every request. Not doubled
   * under `alsoPrefix`: while a prefix changes, old and new code count apart.
   *
   * @throws InvalidArgumentError that names option, value and remedy; also when there is a limiter of this name with other
   *   policies
   */
  limiter(name: string, policies: Policy | readonly Policy[], options?: LimiterOptions): Limiter {
    this.#assertHas('limits')
    return new Limiter(this.#limits, name, policies, options)
  }

  /**
   * Work that is done once for each key, and whose outcome is replayed to repeats. Makes no round trip. All of one name share
   * their keys, so it may be called again for every request. Not doubled under `alsoPrefix`: while a prefix changes, old and new
   * code know nothing of each other's keys.
   *
   * @throws InvalidArgumentError that names option, value and remedy
   */
  idempotency(name: string, options?: IdempotencyOptions): Idempotency {
    this.#assertHas('idempotency')
    return new Idempotency(this.#once, name, options)
  }

  /** @throws InvalidArgumentError when the store has no such thing */
  #assertHas(what: Primitive): void {
    if (this.#store.lacks?.includes(what) !== true) return
    throw new InvalidArgumentError('store', this.#kind, {
      problem: `has no ${what}`,
      remedy: `For ${what} make another instance, with a store on one server or in a database.`,
    })
  }

  /**
   * Who holds a lock, since when, for how long still, with which fence, and how many processes wait. Changes nothing; one
   * round trip (with `alsoPrefix` two where nobody holds it under the new prefix). True when it was read, no longer.
   *
   * @returns `null` when nobody holds it
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  async inspect(name: string, options: { key?: string } = {}): Promise<LockInfo | null> {
    checkOptions(options, ['key'], 'inspect')
    return inspectLock(this.#engine, this.#addresses(name, options.key))
  }

  /**
   * Takes a lock from its holder, for operators. A higher fence is written first; the holder is told at once where the store
   * can push, else at its next renewal. Only `owner` is released, or without it the owner who is read first (one round trip
   * more): a lock that has passed on meanwhile is left alone.
   *
   * @returns whether it was released, who held (or holds) it, and the fence for `guard.raise`
   * @throws InvalidArgumentError, ClosedError, StoreUnavailableError, StoreRefusedError
   */
  async forceRelease(
    name: string,
    options: { owner?: string; key?: string } = {},
  ): Promise<ForceReleaseResult> {
    checkOptions(options, ['owner', 'key'], 'forceRelease')
    return forceRelease(this.#engine, this.#addresses(name, options.key), options.owner)
  }

  /**
   * Looks for what would break the promises: uses a lock and a limit and looks at an idempotency key, all of its own, and reads what the
   * server says of itself (eviction, persistence, replicas, version, clock). For a start-up or a readiness probe: refuse to start when
   * it is not `ok`. Changes nothing that anybody else uses. About six round trips; settles within two budgets.
   *
   * @returns what was seen, what it means and how to mend it, the worst first; and what the client's user needs (`rights`). A
   *   server that cannot be reached is a finding, not an error
   * @throws ClosedError
   */
  async check(): Promise<CheckReport> {
    this.#engine.assertOpen()
    const probe = this.#randomness.id(PROBE_CHARACTERS)
    const policy = { kind: 'fixed-window', name: PROBE, limit: 1, per: 1_000 } as const
    // Short, so that no store refuses it for its length.
    const lock = this.lock(`${PROBE}-${probe}`, { ttl: 1_000, renew: false })
    return examine({
      kind: this.#kind,
      traits: this.traits,
      store: this.#store,
      clock: this.#clock,
      budget: this.#budget,
      trials: {
        locks: async () => (await lock.tryAcquire())?.release(),
        limits: () => this.limiter(PROBE, policy, { budget: this.#budget }).take(probe),
        idempotency: () => this.idempotency(PROBE).inspect({ key: probe, scope: 'global' }),
      },
    })
  }

  /**
   * Ends it: waiting calls reject with ClosedError, held locks and slots are given back (with `release: false` they stay until
   * they expire) and the locks' signals abort, what is being tidied up is finished. The signals of idempotent runs abort as well, and
   * the outcomes of those that end in time are stored. Settles within two budgets, and never rejects.
   * The client or database that the store was made with stays open.
   */
  async close(options: { release?: boolean } = {}): Promise<void> {
    checkOptions(options, ['release'], 'close')
    const release = options.release === undefined ? true : checkBoolean(options.release, 'release')
    this.#closing ??= this.#close(release)
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(release: boolean): Promise<void> {
    const end = this.#clock.monotonic() + 2 * this.#budget
    await Promise.all([this.#engine.close({ release }), this.#limits.close({ release }), this.#once.close()])
    // A connection of the store's own may wait for ever for a server that stands still.
    const closed = async (): Promise<void> => this.#store.close()
    await answered(closed(), this.#clock, end)
    // Not before: a signal that came meanwhile would end the process in the midst of it.
    this.#stopListening()
  }

  /** Where a lock of this name may lie: under the prefix in use, then under the old one. */
  #addresses(name: string, exactKey: string | undefined): readonly LockAddress[] {
    const key = exactKey === undefined ? undefined : checkKey(exactKey)
    return lockAddresses(this.#prefixes, name, key).toReversed()
  }
}

function checkPrefixes({
  prefix = defaults.prefix,
  alsoPrefix,
}: HoldfastOptions): readonly [string, ...string[]] {
  checkPrefix(prefix, 'prefix')
  if (alsoPrefix === undefined) return [prefix]
  checkPrefix(alsoPrefix, 'alsoPrefix')
  if (alsoPrefix === prefix) {
    throw new InvalidArgumentError('alsoPrefix', alsoPrefix, {
      problem: 'is the same as prefix',
      remedy: 'Give the old prefix here and the new one as prefix, or leave it out.',
    })
  }
  return [alsoPrefix, prefix]
}

function checkStore(store: unknown): Store {
  if (typeof store === 'object' && store !== null && 'open' in store && typeof store.open === 'function')
    return store as Store
  throw new InvalidArgumentError('store', kindOf(store), {
    problem: 'is not a store',
    remedy:
      'Give redisStore(client), postgresStore(pool), memoryStore() or another store; a client itself is not a store.',
  })
}

function memoryStoreSaidAloud(): Store {
  process.emitWarning(
    'No store was given: locks are kept in memory and exclude nobody outside this Holdfast instance.',
    {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_MEMORY_STORE',
      detail:
        'Give createHoldfast({ store: redisStore(client) }) or sqliteStore(database); memoryStore() says that memory is meant.',
    },
  )
  return memoryStore()
}
