import { createHoldfast, type Holdfast } from 'holdfast'
import { FileHistory, HistoryRecorder, checkHistory, readHistory, type Assumption } from 'holdfast/testing'
import type { CheckOptions, Verdict } from 'holdfast/testing'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sleep, spawnWorker, waitFor, type Worker } from '../../src/index.ts'
import type { ContenderOptions } from '../../src/workers/contender.ts'
import { GuardedTable } from '../../src/workers/guarded-table.ts'
import { openStore, type OpenedStore, type StoreName } from '../../src/workers/stores.ts'

const CONTENDER = new URL('../../src/workers/contender.ts', import.meta.url)

/** Real machines, shared with others: ten times what is promised, and the machine's own hiccups are recorded as stops. */
const SLACK: CheckOptions = { lossSlack: 500, settleSlack: 1_000 }

export function spawnContenders(count: number): Promise<Worker[]> {
  return Promise.all(Array.from({ length: count }, () => spawnWorker(CONTENDER)))
}

export interface ArenaOptions {
  readonly kind: ContenderOptions['kind']
  /** How contenders reach the store. */
  readonly store: StoreName
  /** How the test looks at it; the same when left out. */
  readonly view?: StoreName
  readonly ttl: number
  readonly wait?: number
  readonly budget?: number
}

/** Processes that contend for one lock, what is done to them, and the history of it all. */
export class Arena {
  readonly name = 'one'
  readonly recorder: HistoryRecorder
  readonly #folder: string
  readonly #workers: readonly Worker[]
  readonly #options: ArenaOptions
  readonly #guard: GuardedTable
  readonly #view: OpenedStore
  readonly #hf: Holdfast

  private constructor(folder: string, workers: readonly Worker[], options: ArenaOptions, view: OpenedStore) {
    this.#folder = folder
    this.#workers = workers
    this.#options = options
    this.recorder = new HistoryRecorder({ process: 'test', log: new FileHistory(this.#history) })
    this.#guard = new GuardedTable(this.#guardPath)
    this.#view = view
    this.#hf = createHoldfast({ store: view.store, prefix: this.prefix })
  }

  /** @param folder that nobody used before */
  static async open(folder: string, workers: readonly Worker[], options: ArenaOptions): Promise<Arena> {
    mkdirSync(folder)
    const view = await openStore(options.view ?? options.store)
    const arena = new Arena(folder, workers, options, view)
    await Promise.all(workers.map((worker, i) => worker.call('open', arena.#optionsOf(i))))
    return arena
  }

  get prefix(): string {
    return 'arena:v1'
  }

  get key(): string {
    return `${this.prefix}:{${this.name}}:lock`
  }

  /** All contend for so long. Resolves when those that live have done. */
  async contend(ms: number): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.call('contend', ms).catch(() => null)))
  }

  /** The process that holds the lock, as the store tells. */
  holder(): Promise<Worker> {
    const find = async (): Promise<Worker | undefined> => {
      const owner = (await this.#hf.inspect(this.name))?.owner
      return this.#workers.find(({ pid, running }) => running && owner?.endsWith(`:${pid}`))
    }
    return waitFor<Worker | undefined>(find, { what: 'somebody to hold the lock' })
  }

  /** Stops the holder for so long; recorded. It may have let go in the very moment: then another is tried. */
  async stopHolder(ms: number): Promise<void> {
    for (;;) {
      const worker = await this.holder()
      const from = this.recorder.time()
      await worker.stop()
      const holds = (await this.holder()) === worker
      if (holds) await sleep(ms)
      worker.continue()
      this.recorder.stop({
        subject: this.#nameOf(worker),
        from,
        until: this.recorder.time(),
        cause: 'SIGSTOP',
      })
      if (holds) return
    }
  }

  /** Stops a given process while something is done; recorded. */
  async stopWhile(worker: Worker, run: () => Promise<void>): Promise<void> {
    const from = this.recorder.time()
    await worker.stop()
    await run()
    worker.continue()
    this.recorder.stop({ subject: this.#nameOf(worker), from, until: this.recorder.time(), cause: 'SIGSTOP' })
  }

  /** Kills a process; recorded. */
  async kill(worker: Worker): Promise<void> {
    await worker.kill()
    this.recorder.death(this.#nameOf(worker))
  }

  /** Runs what takes something away for a while; recorded. */
  async fault(cause: string, breaks: readonly Assumption[], run: () => Promise<unknown>): Promise<void> {
    const from = this.recorder.time()
    await run()
    this.recorder.fault({ cause, breaks, from, until: this.recorder.time() })
  }

  /** Looks whether somebody holds the lock, past every proxy; recorded. */
  async lookAtKey(): Promise<void> {
    const began = this.recorder.time()
    const found = await this.#hf.inspect(this.name)
    if (found === null) return
    const { owner, fence, remaining } = found
    const more = fence === null ? {} : { fence }
    this.recorder.key({ key: this.key, name: this.name, owner, expiresIn: remaining, began, ...more })
  }

  /** Ends the history, lets all processes write their last, and judges it. */
  async judge(options: CheckOptions = {}): Promise<Verdict> {
    // What is awaited must have come by then, and leftovers must be gone.
    const { budget = 1_000, ttl } = this.#options
    await sleep(ttl + 200)
    await Promise.all(this.#workers.filter(({ running }) => running).map((worker) => worker.call('end')))
    await sleep(budget)
    await this.lookAtKey()
    for (const { writer: _, ...write } of this.#guard.writes()) {
      this.recorder.write({ resource: 'guarded', ...write })
    }
    await this.#hf.close()
    this.#view.close()
    this.#guard.close()
    this.recorder.end()
    return checkHistory(readHistory(this.#history), { ...SLACK, ...options })
  }

  get #history(): string {
    return join(this.#folder, 'history.jsonl')
  }

  get #guardPath(): string {
    return join(this.#folder, 'guarded.db')
  }

  #nameOf(worker: Worker): string {
    return `contender ${this.#workers.indexOf(worker) + 1}`
  }

  #optionsOf(i: number): ContenderOptions & Record<string, never> {
    const { kind, store, ttl, wait = 1_000, budget = 1_000 } = this.#options
    const options: ContenderOptions = {
      kind,
      store,
      ttl,
      wait,
      budget,
      prefix: this.prefix,
      name: this.name,
      history: this.#history,
      guard: this.#guardPath,
      process: `contender ${i + 1}`,
    }
    return options as ContenderOptions & Record<string, never>
  }
}
