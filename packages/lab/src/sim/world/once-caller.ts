import { finalError, isHoldfastError, type Idempotency, type IdempotentRun } from 'holdfast'
import type { Client } from '../client/client.ts'
import type { Instant } from '../network/server-host.ts'
import type { OncePlan, OnceStep } from '../plan/plan.ts'
import { inWorldTime } from './recorded.ts'
import type { RunNote, Traffic, WorkNote } from './traffic.ts'

/** What a caller of idempotencies needs besides its client. */
export interface OnceSurroundings {
  readonly runs: readonly OncePlan[]
  readonly traffic: Traffic
  readonly instant: () => Instant
  /** The longest that a work of the plan may take, by any clock. */
  readonly longestWork: number
}

/** An error that says that nothing happened: the key is free again. */
class NothingHappened extends Error {
  readonly code = 'SIM_NOTHING_HAPPENED'
}

/** Runs keys as a plan says, and notes which works began and what everybody was told. */
export class OnceCaller {
  readonly #client: Client
  readonly #around: OnceSurroundings

  constructor(client: Client, around: OnceSurroundings) {
    this.#client = client
    this.#around = around
  }

  async do(step: OnceStep, signal: AbortSignal | undefined): Promise<void> {
    const idempotency = idempotencyOf(this.#client, this.#around.runs, step.run)
    const note = this.#note(step, 'run')
    const { rate } = this.#client.process.clock
    const about = {
      wait: inWorldTime(step.wait + 2 * this.#around.longestWork, rate),
      budget: inWorldTime(3 * this.#client.budget, rate),
    }
    const options = { fingerprint: { payload: step.payload }, wait: step.wait, ...(signal && { signal }) }
    const key = { key: 'order', scope: 'global' }
    try {
      const outcome = await this.#client.recorder.call('run', about, () =>
        idempotency.run(key, options, (run) => this.#work(step, note, run)),
      )
      note.outcome = 'value'
      note.value = String(outcome.value)
      note.replayed = outcome.replayed
    } catch (error) {
      this.#failed(note, error)
    } finally {
      note.told = this.#around.instant()
    }
    if (step.settles && note.reason === 'abandoned') await this.#settle(idempotency, step)
  }

  #failed(note: RunNote, error: unknown): void {
    note.outcome = 'told'
    if (isHoldfastError(error)) {
      note.code = error.code
      note.reason = 'reason' in error ? String(error.reason) : null
      return
    }
    if (!(error instanceof Error)) throw error
    const { code, replayed } = error as Error & { code?: string; replayed?: boolean }
    if (error instanceof NothingHappened) note.outcome = 'freed'
    // The work's own error comes out even where its key was lost; then that rides along.
    else if ('holdfast' in error) note.reason = 'lost'
    else if (error.name === 'Refused') {
      note.outcome = 'final'
      note.value = error.message
      note.replayed = replayed === true
    } else if (code !== 'SIM_ABORTED') throw error
  }

  /** An operator finds out what became of a run, and says so. */
  async #settle(idempotency: Idempotency, step: OnceStep): Promise<void> {
    const note = this.#note(step, 'settle')
    note.value = `settled by ${this.#client.process.name}`
    const about = { budget: inWorldTime(this.#client.budget, this.#client.process.clock.rate) }
    const { settled } = await this.#client.recorder.call('settle', about, () =>
      idempotency.settle({ key: 'order', scope: 'global' }, { value: note.value }),
    )
    note.told = this.#around.instant()
    note.outcome = settled ? 'settled' : 'told'
  }

  async #work(step: OnceStep, { asked }: RunNote, run: IdempotentRun): Promise<string> {
    const { process, recorder } = this.#client
    const value = `${step.payload} by ${run.owner}`
    const note: WorkNote = {
      process: process.name,
      key: step.run,
      payload: step.payload,
      value,
      attempt: run.attempt,
      asked,
      began: this.#around.instant(),
      lost: null,
      ended: null,
      ends: step.ends,
    }
    this.#around.traffic.works.push(note)
    const lost = (): void => {
      note.lost ??= process.time
    }
    if (run.signal.aborted) lost()
    run.signal.addEventListener('abort', lost)
    for (const part of step.work) {
      if (part >= 0) await new Promise<void>((resolve) => void process.clock.setTimer(resolve, part))
      else {
        const from = process.time
        process.busyFor(-part)
        recorder.stop({ from, until: process.time, cause: 'blocked' })
      }
    }
    note.ended = this.#around.instant()
    if (step.ends === 'value') return value
    if (step.ends === 'nothing') throw new NothingHappened('nothing happened')
    const refused = new Error(value)
    refused.name = 'Refused'
    throw finalError(refused)
  }

  #note(step: OnceStep, what: RunNote['what']): RunNote {
    const note: RunNote = {
      process: this.#client.process.name,
      key: step.run,
      payload: step.payload,
      what,
      asked: this.#around.instant(),
      told: null,
      outcome: null,
      value: null,
      replayed: false,
      code: null,
      reason: null,
    }
    this.#around.traffic.runs.push(note)
    return note
  }
}

/** An idempotency of a plan, as a process has it. */
export function idempotencyOf(client: Client, runs: readonly OncePlan[], index: number): Idempotency {
  const { onAbandoned, lease } = runs[index] as OncePlan
  return client.hf.idempotency(`run-${index + 1}`, { onAbandoned, lease, budget: client.budget })
}
