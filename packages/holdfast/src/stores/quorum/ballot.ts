import type { Clock } from '../../clock.ts'
import type { Schedule, Scheduled } from '../../schedule.ts'
import type { Answer } from '../../store/contract.ts'
import { asStoreFailure, type StoreFailure } from '../../store/failure.ts'

/** What is known of one node in a round. `unasked`: it had nothing to be asked for. `silent`: no answer within the budget. */
export type Vote<R> =
  | { readonly kind: 'answered'; readonly answer: Answer<R> }
  | { readonly kind: 'failed'; readonly failure: StoreFailure }
  | { readonly kind: 'silent' }
  | { readonly kind: 'unasked' }

/** By node; `null` while its answer is still awaited. */
export type Votes<R> = readonly (Vote<R> | null)[]

/** Asks one node; `null` when it is not to be asked. */
export type NodeAsk<R> = (() => Promise<Answer<R>>) | null

const SILENT = { kind: 'silent' } as const
const UNASKED = { kind: 'unasked' } as const

/**
 * One round: all nodes are asked at once, and whoever judges looks at the votes after each. The first verdict ends the round;
 * what is answered later is for those to note who asked. At its time the round ends whatever the nodes do.
 */
export class Ballot<R, V> implements Scheduled {
  dueAt = 0
  readonly early = 0
  heapIndex = -1
  readonly #clock: Clock
  readonly #schedule: Schedule
  readonly #judge: (votes: Votes<R>) => V | null
  readonly #votes: (Vote<R> | null)[]
  readonly #verdict: Promise<V>
  #settle: (verdict: V) => void = () => {}
  #fail: (error: unknown) => void = () => {}
  #over = false

  /**
   * @param judge must come to a verdict when no vote is awaited any more; may throw, which ends the round as well
   * @param until monotonic milliseconds
   */
  constructor(
    clock: Clock,
    schedule: Schedule,
    asks: readonly NodeAsk<R>[],
    judge: (votes: Votes<R>) => V | null,
    until: number,
  ) {
    this.#clock = clock
    this.#schedule = schedule
    this.#judge = judge
    this.#verdict = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
    })
    this.#votes = asks.map((ask) => (ask === null ? UNASKED : null))
    schedule.put(this, until)
    for (const [node, ask] of asks.entries()) {
      ask?.().then(
        (answer) => this.#vote(node, { kind: 'answered', answer }),
        (error: unknown) => this.#vote(node, { kind: 'failed', failure: asStoreFailure(error) }),
      )
    }
    this.#look()
  }

  get verdict(): Promise<V> {
    return this.#verdict
  }

  onDue(): void {
    // What arrived while the event loop was blocked is read in this very turn, after the timers.
    this.#clock.endOfTurn(() => {
      for (const [node, vote] of this.#votes.entries()) if (vote === null) this.#votes[node] = SILENT
      this.#look()
    })
  }

  #vote(node: number, vote: Vote<R>): void {
    if (this.#over) return
    this.#votes[node] = vote
    this.#look()
  }

  #look(): void {
    if (this.#over) return
    try {
      const verdict = this.#judge(this.#votes)
      if (verdict === null) return
      this.#end()
      this.#settle(verdict)
    } catch (error) {
      this.#end()
      this.#fail(error)
    }
  }

  #end(): void {
    this.#over = true
    this.#schedule.remove(this)
  }
}
