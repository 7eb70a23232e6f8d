import type { HistoryRecorder } from 'holdfast/testing'
import type { ClientProcess } from '../client/process.ts'

/** What the locks protect: it refuses a write whose fence is lower than one that it has accepted. */
export class GuardedResource {
  readonly #recorder: HistoryRecorder
  readonly #highest = new Map<string, bigint>()
  #order = 0
  refused = 0

  constructor(recorder: HistoryRecorder) {
    this.#recorder = recorder
  }

  /** A write leaves a process, and arrives after `delay`. */
  send(from: ClientProcess, name: string, fence: bigint, delay: number): void {
    const began = from.time
    from.scheduler.at(began + delay, null, () => {
      const accepted = fence >= (this.#highest.get(name) ?? 0n)
      if (accepted) this.#highest.set(name, fence)
      else this.refused += 1
      this.#order += 1
      this.#recorder.write({ resource: name, fence, accepted, order: this.#order, began })
    })
  }
}
