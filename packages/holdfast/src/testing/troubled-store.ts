import { instantOf, type Clock } from '../clock.ts'
import type { LockAddress } from '../name.ts'
import type { Attempt } from '../store/attempt.ts'
import type {
  AcquireAsk,
  Answer,
  LeaveAsk,
  LockListener,
  LockStore,
  OpenStore,
  OwnerAsk,
  RenewAsk,
  Store,
  StoreContext,
  StoreTraits,
} from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'

/** A call of a lock store. */
export type StoreCall = 'acquire' | 'release' | 'renew' | 'leave' | 'inspect' | 'force' | 'raise'

/**
 * What can happen to a call. `swallowed`: the request never arrives, and nobody answers. `unanswered`: it is done, and the
 * answer never comes. `cut`: it is done, and the connection breaks before the answer. `unsent`: there is no connection.
 * `refused`: the server says no. `twice`: it is done, and may have been sent twice. `answeredAfter`: it is done at once, the
 * answer takes a while. `arrivesAfter`: the request itself takes a while.
 */
export type Trouble =
  | 'swallowed'
  | 'unanswered'
  | 'cut'
  | 'unsent'
  | 'refused'
  | 'twice'
  | { readonly answeredAfter: number }
  | { readonly arrivesAfter: number }

/** A call that was made. */
export interface MadeCall {
  readonly call: StoreCall
  /** The lock's. */
  readonly key: string
  /** Monotonic milliseconds. */
  readonly at: number
  readonly attempt: Attempt
}

/** Which calls are in trouble: so many of them, and of that lock only. All when left out. */
export interface TroubleReach {
  readonly times?: number
  readonly key?: string
}

/** A store between which and its callers a test can put trouble, call by call. For tests of what stands above stores. */
export class TroubledStore implements Store {
  readonly kind: string
  readonly traits: StoreTraits
  /** Every call so far, whatever became of it. */
  readonly calls: MadeCall[] = []
  readonly #inner: Store
  readonly #openings: TroubledLocks[] = []
  readonly #troubles = new Map<StoreCall, { trouble: Trouble; times: number; key: string | undefined }>()

  constructor(inner: Store) {
    this.#inner = inner
    this.kind = inner.kind
    this.traits = inner.traits
  }

  open(context: StoreContext): OpenStore {
    const opened = this.#inner.open(context)
    const locks = new TroubledLocks(opened.locks, this, context.clock)
    this.#openings.push(locks)
    return { locks, limits: opened.limits, once: opened.once, close: () => opened.close() }
  }

  /** From now on nothing that the store pushes is heard. */
  deafen(): void {
    for (const opening of this.#openings) opening.deaf = true
  }

  /** Tells all who listen that pushes may have been lost. */
  gap(): void {
    for (const { listener } of this.#openings) listener?.gap()
  }

  /** From now on, calls of this kind are in trouble. */
  trouble(call: StoreCall, trouble: Trouble, { times = Infinity, key }: TroubleReach = {}): void {
    this.#troubles.set(call, { trouble, times, key })
  }

  /** No call of this kind is in trouble any more; of no kind, when `call` is left out. */
  heal(call?: StoreCall): void {
    if (call === undefined) this.#troubles.clear()
    else this.#troubles.delete(call)
  }

  /** When a kind was called: monotonic milliseconds. */
  times(call: StoreCall, key?: string): number[] {
    return this.calls
      .filter((made) => made.call === call && (key === undefined || made.key === key))
      .map(({ at }) => at)
  }

  /** How often a kind was called. */
  count(call: StoreCall): number {
    return this.times(call).length
  }

  /** Notes a call, and says what is to happen to it. For the store's own openings. */
  take(made: MadeCall): Trouble | null {
    this.calls.push(made)
    const { call, key } = made
    const entry = this.#troubles.get(call)
    if (entry === undefined || (entry.key !== undefined && entry.key !== key)) return null
    entry.times -= 1
    if (entry.times <= 0) this.#troubles.delete(call)
    return entry.trouble
  }
}

class TroubledLocks implements LockStore {
  readonly process: string
  readonly raise?: Required<LockStore>['raise']
  readonly identify?: Required<LockStore>['identify']
  listener: LockListener | null = null
  deaf = false
  readonly #inner: LockStore
  readonly #store: TroubledStore
  readonly #clock: Clock

  constructor(inner: LockStore, store: TroubledStore, clock: Clock) {
    this.process = inner.process
    this.#inner = inner
    this.#store = store
    this.#clock = clock
    const able = inner as Required<LockStore>
    if (inner.raise !== undefined)
      this.raise = (ask, attempt) => this.#call('raise', ask.address, attempt, () => able.raise(ask, attempt))
    if (inner.identify !== undefined) this.identify = (attempt) => able.identify(attempt)
  }

  acquire(ask: AcquireAsk, attempt: Attempt) {
    return this.#call('acquire', ask.address, attempt, () => this.#inner.acquire(ask, attempt))
  }

  release(ask: OwnerAsk, attempt: Attempt) {
    return this.#call('release', ask.address, attempt, () => this.#inner.release(ask, attempt))
  }

  renew(ask: RenewAsk, attempt: Attempt) {
    return this.#call('renew', ask.address, attempt, () => this.#inner.renew(ask, attempt))
  }

  leave(ask: LeaveAsk, attempt: Attempt) {
    return this.#call('leave', ask.address, attempt, () => this.#inner.leave(ask, attempt))
  }

  inspect(address: LockAddress, attempt: Attempt) {
    return this.#call('inspect', address, attempt, () => this.#inner.inspect(address, attempt))
  }

  force(ask: OwnerAsk, attempt: Attempt) {
    return this.#call('force', ask.address, attempt, () => this.#inner.force(ask, attempt))
  }

  listen(listener: LockListener): void {
    this.listener = listener
    this.#inner.listen({
      wake: (key) => this.deaf || listener.wake(key),
      forced: (key, owner) => this.deaf || listener.forced(key, owner),
      gap: (key) => this.deaf || listener.gap(key),
      moved: () => listener.moved(),
    })
  }

  attend(needed: boolean): void {
    this.#inner.attend(needed)
  }

  async #call<R>(
    call: StoreCall,
    { key }: LockAddress,
    attempt: Attempt,
    run: () => Promise<Answer<R>>,
  ): Promise<Answer<R>> {
    const trouble = this.#store.take({ call, key, attempt, at: this.#clock.monotonic() })
    if (trouble === null) return run()
    if (trouble === 'unsent') throw failure('connection', 'unreachable', 'not-done')
    if (trouble === 'refused') throw failure('READONLY', 'refused', 'not-done')
    attempt.sent = instantOf(this.#clock)
    if (typeof trouble === 'object') return this.#slow(trouble, attempt, run)
    if (trouble === 'swallowed') return never()
    const answer = await run()
    if (trouble === 'unanswered') return never()
    if (trouble === 'cut') throw failure('connection', 'unreachable', 'unknown')
    return { ...answer, maybeTwice: true }
  }

  async #slow<R>(
    trouble: { readonly answeredAfter: number } | { readonly arrivesAfter: number },
    attempt: Attempt,
    run: () => Promise<Answer<R>>,
  ): Promise<Answer<R>> {
    const { sent } = attempt
    if ('arrivesAfter' in trouble) {
      // A real store writes it when it sends the request.
      if (sent !== null) attempt.notAfter = Math.floor(sent.wall + attempt.validUntil - sent.monotonic)
      await this.#pass(trouble.arrivesAfter)
    }
    const answer = await run()
    attempt.sent = sent
    if ('answeredAfter' in trouble) await this.#pass(trouble.answeredAfter)
    return answer
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.setTimer(resolve, ms))
  }
}

function never(): Promise<never> {
  return new Promise(() => {})
}

function failure(
  reason: string,
  kind: 'refused' | 'unreachable',
  outcome: 'not-done' | 'unknown',
): StoreFailure {
  return new StoreFailure(`trouble of a test: ${reason}`, { kind, outcome, final: false, reason })
}
