import { instantOf, type Clock } from '../../clock.ts'
import type { Answer } from '../../store/contract.ts'
import type { DoStep, RulesStep } from '../../store/rules-step.ts'
import { closed } from './closed.ts'

/** Steps of rules over tables in memory, until it is closed: each is synchronous, and nothing else runs meanwhile. */
export class MemorySteps<Rules> {
  readonly #clock: Clock
  readonly #tables: { begin(): { readonly now: number } }
  readonly #rules: Rules
  #closed = false

  constructor(clock: Clock, tables: { begin(): { readonly now: number } }, rules: Rules) {
    this.#clock = clock
    this.#tables = tables
    this.#rules = rules
  }

  readonly do: DoStep<Rules> = async (step) => this.#do(step)

  close(): void {
    this.#closed = true
  }

  #do<R>({ attempt, mode, run }: RulesStep<Rules, R>): Answer<R> {
    if (this.#closed) throw closed()
    const sent = instantOf(this.#clock)
    const { now } = this.#tables.begin()
    const expires = mode === 'late'
    attempt.sent = sent
    attempt.notAfter = expires ? Math.floor(now + (attempt.validUntil - sent.monotonic)) : null
    const result = run(this.#rules, expires && sent.monotonic > attempt.validUntil)
    return { result, serverTime: now, maybeTwice: false }
  }
}
