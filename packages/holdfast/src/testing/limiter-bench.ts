import { instantOf, type Clock } from '../clock.ts'
import { createHoldfast, type Holdfast, type HoldfastOptions } from '../holdfast.ts'
import type { Attempt } from '../store/attempt.ts'
import type { Answer, OpenStore, Store, StoreContext } from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import type {
  AdjustAsk,
  BlockAsk,
  LimitStore,
  PeekAsk,
  RenewSlotAsk,
  SubjectAsk,
  TakeAsk,
} from '../store/limit/contract.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { Bench } from './bench.ts'
import { seededRandomness } from './seeded-randomness.ts'
import { VirtualClock } from './virtual-clock.ts'

/** A call of a limit store. */
export type LimitCall = 'take' | 'peek' | 'adjust' | 'renew' | 'reset' | 'block'

/**
 * What can happen to a call. `swallowed`: it never arrives, and nobody answers. `unanswered`: it is done, and the answer never
 * comes. `unsent`: there is no connection. A word in capitals: the server says that, and does nothing.
 */
export type LimitTrouble =
  'swallowed' | 'unanswered' | 'unsent' | Uppercase<string> | { readonly answeredAfter: number }

/** A call that was made. */
export interface MadeLimitCall {
  readonly call: LimitCall
  readonly subject: string
  readonly cost: number
  /** Monotonic milliseconds. */
  readonly at: number
}

/** A store in memory between which and its callers a test can put trouble. */
class TroubledLimits implements LimitStore {
  readonly #inner: LimitStore
  readonly #bench: LimiterBench
  readonly #clock: Clock

  constructor(inner: LimitStore, bench: LimiterBench, clock: Clock) {
    this.#inner = inner
    this.#bench = bench
    this.#clock = clock
  }

  take(ask: TakeAsk, attempt: Attempt) {
    return this.#call('take', ask, ask.cost, attempt, () => this.#inner.take(ask, attempt))
  }

  peek(ask: PeekAsk, attempt: Attempt) {
    return this.#call('peek', ask, ask.cost, attempt, () => this.#inner.peek(ask, attempt))
  }

  adjust(ask: AdjustAsk, attempt: Attempt) {
    return this.#call('adjust', ask, ask.cost, attempt, () => this.#inner.adjust(ask, attempt))
  }

  renew(ask: RenewSlotAsk, attempt: Attempt) {
    return this.#call('renew', ask, 0, attempt, () => this.#inner.renew(ask, attempt))
  }

  reset(ask: SubjectAsk, attempt: Attempt) {
    return this.#call('reset', ask, 0, attempt, () => this.#inner.reset(ask, attempt))
  }

  block(ask: BlockAsk, attempt: Attempt) {
    return this.#call('block', ask, 0, attempt, () => this.#inner.block(ask, attempt))
  }

  async #call<R>(
    call: LimitCall,
    { address: { subject } }: SubjectAsk,
    cost: number,
    attempt: Attempt,
    run: () => Promise<Answer<R>>,
  ): Promise<Answer<R>> {
    this.#bench.calls.push({ call, subject, cost, at: this.#clock.monotonic() })
    const trouble = this.#bench.troubles.get(call) ?? this.#bench.troubles.get('all')
    if (trouble === undefined) return run()
    if (trouble === 'unsent') throw failure('connection', 'unreachable')
    const sent = instantOf(this.#clock)
    if (trouble === 'swallowed' || trouble === 'unanswered') {
      attempt.sent = sent
      if (trouble === 'unanswered') await run()
      return new Promise(() => {})
    }
    if (typeof trouble === 'string') throw failure(trouble, 'refused')
    const answer = await run()
    attempt.sent = sent
    await new Promise<void>((resolve) => void this.#clock.setTimer(resolve, trouble.answeredAfter))
    return answer
  }
}

function failure(reason: string, kind: 'refused' | 'unreachable'): StoreFailure {
  const final = ['WRONGTYPE', 'NOPERM', 'NOAUTH'].includes(reason)
  return new StoreFailure(`trouble of a test: ${reason}`, { kind, outcome: 'not-done', final, reason })
}

/**
 * Two processes over one store in memory, under one virtual clock. Trouble is made for the first only. For tests of what
 * limiters do above stores.
 */
export class LimiterBench extends Bench {
  readonly hf: Holdfast
  /** Another process over the same store, which has no trouble. */
  readonly other: Holdfast
  /** Every call of the first, whatever became of it. */
  readonly calls: MadeLimitCall[] = []
  readonly troubles = new Map<LimitCall | 'all', LimitTrouble>()
  readonly #memory = memoryStore()
  #seed = 1

  constructor(options: HoldfastOptions = {}, clock = new VirtualClock()) {
    super(clock)
    const store: Store = { ...this.#memory, open: (context) => this.#open(context) }
    this.hf = createHoldfast({ clock, randomness: seededRandomness(this.#seed++), ...options, store })
    this.other = this.another(options)
  }

  /** One more process over the same store. */
  another(options: HoldfastOptions = {}): Holdfast {
    const { clock } = this
    return createHoldfast({
      clock,
      randomness: seededRandomness(this.#seed++),
      ...options,
      store: this.#memory,
    })
  }

  /** From now on calls are in trouble: all, or those of a kind. */
  trouble(trouble: LimitTrouble, call: LimitCall | 'all' = 'all'): void {
    this.troubles.set(call, trouble)
  }

  heal(): void {
    this.troubles.clear()
  }

  /** How often the first process asked the store; of one kind, if given. */
  count(call?: LimitCall): number {
    return call === undefined ? this.calls.length : this.calls.filter((made) => made.call === call).length
  }

  #open(context: StoreContext): OpenStore {
    const opened = this.#memory.open(context)
    return { ...opened, limits: new TroubledLimits(opened.limits, this, context.clock) }
  }
}
