import type { Clock } from '../../clock.ts'
import type { Schedule, Scheduled } from '../../schedule.ts'
import type { Answer, LockStore, ReleaseResult } from '../../store/contract.ts'
import { asStoreFailure } from '../../store/failure.ts'
import type { Claim } from './claim.ts'
import { NodeAttempt } from './node-attempt.ts'
import type { Standing } from './standing.ts'

/** Between two releases on one node, at most, in milliseconds. */
const LONGEST_PAUSE = 1_000

interface GivingBackParts {
  readonly clock: Clock
  readonly schedule: Schedule
  readonly nodes: readonly LockStore[]
  /** Milliseconds for one node to answer. */
  readonly nodeBudget: number
  /** Nothing of this claim can be anywhere any more. */
  readonly ended: (claim: Claim) => void
}

/** First answers by node; `null` where there is nothing to give back. */
export type FirstAnswers = readonly (Promise<Answer<ReleaseResult>> | null)[]

/** Takes owners off the nodes, in the background. */
export class GivingBack {
  readonly #parts: GivingBackParts
  readonly #work = new Set<GiveBack>()
  #whenDone: (() => void) | null = null

  constructor(parts: GivingBackParts) {
    this.#parts = parts
  }

  /**
   * Begins with a claim that is spent. On each node that may have a key of it a release is sent now.
   *
   * @returns the first answers; where one is a failure, or does not come, it goes on all the same
   */
  begin(claim: Claim): FirstAnswers {
    const work = new GiveBack(claim, {
      ...this.#parts,
      ended: () => {
        this.#work.delete(work)
        this.#parts.ended(claim)
        if (this.#work.size === 0) this.#whenDone?.()
      },
    })
    this.#work.add(work)
    return work.begin()
  }

  /** Lets what is under way come to its end, for one node's budget at most; the rest expires. */
  async close(): Promise<void> {
    if (this.#work.size === 0) return
    const { clock, nodeBudget } = this.#parts
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(resolve, nodeBudget, { keepAlive: true })
      this.#whenDone = () => {
        timer.cancel()
        resolve()
      }
    })
    for (const work of [...this.#work]) work.end()
  }
}

/**
 * The way of one claim off the nodes: on each a release is repeated until it was *answered* at a time of that node beyond the last
 * moment in which a copy of an acquire could still be granted there. It ends as well when any such key has expired by itself.
 */
class GiveBack implements Scheduled {
  dueAt = 0
  readonly early = 0
  heapIndex = -1
  readonly #claim: Claim
  readonly #parts: GivingBackParts
  readonly #open = new Set<number>()
  #pause: number

  constructor(claim: Claim, parts: GivingBackParts) {
    this.#claim = claim
    this.#parts = parts
    this.#pause = parts.nodeBudget
  }

  begin(): FirstAnswers {
    const { clock, schedule } = this.#parts
    for (const [node, standing] of this.#claim.standings.entries()) {
      standing.abandon()
      if (standing.mayHold) this.#open.add(node)
    }
    const firsts = this.#claim.standings.map((_standing, node) =>
      this.#open.has(node) ? this.#release(node) : null,
    )
    if (this.#open.size > 0) schedule.put(this, clock.monotonic() + this.#pause)
    else this.end()
    return firsts
  }

  onDue(): void {
    const { clock, schedule } = this.#parts
    const now = clock.monotonic()
    if (now >= this.#claim.over) return this.end()
    this.#pause = Math.min(Math.max(LONGEST_PAUSE, this.#parts.nodeBudget), this.#pause * 2)
    schedule.put(this, now + this.#pause)
    for (const node of [...this.#open]) void this.#release(node, true)
  }

  end(): void {
    this.#open.clear()
    this.#parts.schedule.remove(this)
    this.#parts.ended(this.#claim)
  }

  #release(node: number, again = false): Promise<Answer<ReleaseResult>> {
    const { clock, nodes, nodeBudget } = this.#parts
    const { address, owner } = this.#claim
    const attempt = new NodeAttempt(null, clock.monotonic() + nodeBudget)
    attempt.afterSilence = again && this.#claim.standings[node]?.released === null
    const answer = (nodes[node] as LockStore).release({ address, owner }, attempt)
    answer.then(
      (came) => this.#answered(node, came),
      (error: unknown) => {
        if (asStoreFailure(error).final) this.#done(node)
      },
    )
    return answer
  }

  #answered(node: number, answer: Answer<ReleaseResult>): void {
    const standing = this.#claim.standings[node] as Standing
    standing.released ??= answer
    if (standing.clearedAt(answer.serverTime)) {
      standing.gone()
      return this.#done(node)
    }
    if (!this.#open.has(node)) return
    const { clock, schedule } = this.#parts
    const left = Math.max(1, standing.doubtLeft(answer.serverTime) + 1)
    schedule.put(this, Math.min(this.dueAt, clock.monotonic() + left))
  }

  #done(node: number): void {
    if (this.#open.delete(node) && this.#open.size === 0) this.end()
  }
}
