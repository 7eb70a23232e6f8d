import type { Held, Holdfast } from 'holdfast'
import {
  checkHistory,
  formatVerdict,
  HistoryRecorder,
  MemoryHistory,
  type RecordedLock,
  type Verdict,
} from 'holdfast/testing'
import { expect } from 'vitest'
import { SLACK_MS } from './settling.ts'

/** A history of a few processes in memory, judged in the end. Slack as on a shared machine, conditions as they are. */
export class Judged {
  readonly #log = new MemoryHistory()
  #processes = 0

  /** The lock of a Holdfast instance, recorded as one process of the history. */
  lock(hf: Holdfast, about: { name: string; ttl: number; wait: number; budget: number }): RecordedLock<Held> {
    const recorder = new HistoryRecorder({ process: `p${(this.#processes += 1)}`, log: this.#log })
    const { name, ttl, wait } = about
    return recorder.lock(hf.lock(name, { ttl, wait }), about)
  }

  /** No invariant is broken. Returns how much there was to judge. */
  expectRight(): Verdict['counted'] {
    const verdict = checkHistory(this.#log.records, {
      settleSlack: SLACK_MS,
      lossSlack: SLACK_MS / 2,
      compensationBound: 5 * SLACK_MS,
    })
    expect(verdict.ok, formatVerdict(verdict)).toBe(true)
    expect(verdict.counted.acquires.unsettled).toBe(0)
    return verdict.counted
  }
}
