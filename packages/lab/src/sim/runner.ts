import { fromPlainCallback } from './microtasks.ts'
import type { Plan } from './plan/plan.ts'
import { runPlan, type Run } from './run.ts'
import { ScriptCache } from './server/lua/script-cache.ts'

/** Runs plans one after the other, each in a turn of the event loop of its own, and hears of rejections that nobody handles. */
export class Runner {
  readonly #scripts = new ScriptCache()
  #rejections: string[] = []
  readonly #onRejection = (error: unknown): void => {
    this.#rejections.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }

  readonly #traces = Error.stackTraceLimit

  /** @param options `traces`: whether errors know where they were made. Without it a schedule takes a tenth less time. */
  constructor({ traces = false }: { readonly traces?: boolean } = {}) {
    if (!traces) Error.stackTraceLimit = 0
    process.on('unhandledRejection', this.#onRejection)
  }

  async run(plan: Plan): Promise<Run> {
    this.#rejections = []
    const run = await fromPlainCallback(() => runPlan(plan, this.#scripts))
    // By the end of the turn it is known which rejections nobody handles.
    await fromPlainCallback(() => undefined)
    if (this.#rejections.length === 0) return run
    const unhandled = this.#rejections.map((text) => ({
      invariant: 'INV-C1',
      name: null,
      sentence: `A rejection was not handled: ${text}`,
      witness: [],
    }))
    return { ...run, faults: [...run.faults, ...unhandled] }
  }

  close(): void {
    Error.stackTraceLimit = this.#traces
    process.off('unhandledRejection', this.#onRejection)
  }
}
