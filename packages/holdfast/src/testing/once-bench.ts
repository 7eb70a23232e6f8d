import { instantOf, type Clock } from '../clock.ts'
import { createHoldfast, type Holdfast, type HoldfastOptions } from '../holdfast.ts'
import type { Attempt } from '../store/attempt.ts'
import type { Answer, OpenStore, Store, StoreContext } from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import type { OnceAddress } from '../store/once/address.ts'
import type {
  ClaimAsk,
  CompleteAsk,
  FreeAsk,
  OnceStore,
  RenewRunAsk,
  SettleAsk,
} from '../store/once/contract.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { Bench } from './bench.ts'
import { seededRandomness } from './seeded-randomness.ts'

/** A call of a once store. */
export type OnceCallName = 'claim' | 'renew' | 'complete' | 'free' | 'settle' | 'inspect'

/**
 * What can happen to a call. `swallowed`: it never arrives, and nobody answers. `unanswered`: it is done, and the answer never
 * comes. `unsent`: there is no connection. A word in capitals: the server says that, and does nothing.
 */
export type OnceTrouble =
  'swallowed' | 'unanswered' | 'unsent' | Uppercase<string> | { readonly arrivesAfter: number }

/** A store in memory between which and its callers a test can put trouble. */
class TroubledOnce implements OnceStore {
  readonly #inner: OnceStore
  readonly #bench: OnceBench
  readonly #clock: Clock

  constructor(inner: OnceStore, bench: OnceBench, clock: Clock) {
    this.#inner = inner
    this.#bench = bench
    this.#clock = clock
  }

  claim(ask: ClaimAsk, attempt: Attempt) {
    return this.#call('claim', attempt, (late) => this.#inner.claim(ask, late))
  }

  renew(ask: RenewRunAsk, attempt: Attempt) {
    return this.#call('renew', attempt, (late) => this.#inner.renew(ask, late))
  }

  complete(ask: CompleteAsk, attempt: Attempt) {
    return this.#call('complete', attempt, (late) => this.#inner.complete(ask, late))
  }

  free(ask: FreeAsk, attempt: Attempt) {
    return this.#call('free', attempt, (late) => this.#inner.free(ask, late))
  }

  settle(ask: SettleAsk, attempt: Attempt) {
    return this.#call('settle', attempt, (late) => this.#inner.settle(ask, late))
  }

  inspect(address: OnceAddress, attempt: Attempt) {
    return this.#call('inspect', attempt, (late) => this.#inner.inspect(address, late))
  }

  async #call<R>(
    call: OnceCallName,
    attempt: Attempt,
    run: (attempt: Attempt) => Promise<Answer<R>>,
  ): Promise<Answer<R>> {
    this.#bench.calls.push(call)
    const trouble = this.#bench.troubles.get(call) ?? this.#bench.troubles.get('all')
    if (trouble === undefined) return run(attempt)
    if (trouble === 'unsent') throw failure('connection', 'unreachable')
    const { wall, monotonic } = (attempt.sent = instantOf(this.#clock))
    // The store's clock in memory starts with this machine's wall clock, and no test here sets that.
    attempt.notAfter = wall + (attempt.validUntil - monotonic)
    if (trouble === 'swallowed') return new Promise(() => {})
    if (trouble === 'unanswered') {
      await run(attempt)
      return new Promise(() => {})
    }
    if (typeof trouble === 'string') throw failure(trouble, 'refused')
    await new Promise<void>((resolve) => void this.#clock.setTimer(resolve, trouble.arrivesAfter))
    return run(attempt)
  }
}

function failure(reason: string, kind: 'refused' | 'unreachable'): StoreFailure {
  const final = ['WRONGTYPE', 'NOPERM', 'READONLY'].includes(reason)
  return new StoreFailure(`trouble of a test: ${reason}`, { kind, outcome: 'not-done', final, reason })
}

/**
 * Two processes over one store in memory, under one virtual clock. Trouble is made for the first only. For tests of what
 * idempotencies do above stores.
 */
export class OnceBench extends Bench {
  readonly hf: Holdfast
  /** Another process over the same store, which has no trouble. */
  readonly other: Holdfast
  /** Every call of the first, whatever became of it. */
  readonly calls: OnceCallName[] = []
  readonly troubles = new Map<OnceCallName | 'all', OnceTrouble>()
  /** Every end of a call of `run`, of either. */
  readonly told = this.hear('holdfast:once:outcome')
  readonly #memory = memoryStore()

  constructor(options: HoldfastOptions = {}) {
    super()
    const { clock } = this
    const store: Store = { ...this.#memory, open: (context) => this.#open(context) }
    this.hf = createHoldfast({ clock, randomness: seededRandomness(1), ...options, store })
    this.other = createHoldfast({
      clock,
      randomness: seededRandomness(2),
      ...options,
      store: this.#memory,
    })
  }

  /** From now on calls are in trouble: all, or those of a kind. */
  trouble(trouble: OnceTrouble, call: OnceCallName | 'all' = 'all'): void {
    this.troubles.set(call, trouble)
  }

  heal(): void {
    this.troubles.clear()
  }

  /** How often the first process asked the store for that. */
  count(call: OnceCallName): number {
    return this.calls.filter((made) => made === call).length
  }

  /** Closes both, and stops listening. */
  async close(): Promise<void> {
    this.heal()
    this.end()
    const closed = Promise.all([this.hf.close(), this.other.close()])
    await this.clock.advance(10_000)
    await closed
  }

  #open(context: StoreContext): OpenStore {
    const opened = this.#memory.open(context)
    return { ...opened, once: new TroubledOnce(opened.once, this, context.clock) }
  }
}
