import type { Clock } from '../../clock.ts'
import type { Answer } from '../../store/contract.ts'
import type { DoStep } from '../../store/rules-step.ts'
import { SqlBatch } from './batch.ts'
import type { SqlKind, SqlPort } from './port.ts'
import type { SqlSpace } from './space.ts'
import { SqlSweeper } from './sweeper.ts'
import { notDone, type SqlTask } from './task.ts'

/** Most operations of one transaction: all of them wait for its commit. */
const MAX_TASKS = 64
/** Transactions of one kind under way at once: enough to hide the way to the database, and a part of a usual pool. */
const AT_ONCE = 3

/**
 * Runs operations of one kind in transactions. A lone one begins at once; those that come in the same turn of the event loop,
 * or while all connections are busy, share one. Operations on one key go in their order: while one is under way, later ones
 * wait for it, so an acquire never overtakes the release before it.
 */
export class SqlTransactions {
  readonly #port: SqlPort
  readonly #clock: Clock
  readonly #kind: SqlKind
  readonly #sweeper: SqlSweeper
  #waiting: SqlTask[] = []
  /** To go each in a transaction of its own. */
  readonly #alone = new Set<SqlTask>()
  readonly #busyKeys = new Set<string>()
  #underWay = 0
  #gathering = false
  #closed = false

  constructor(port: SqlPort, clock: Clock, kind: SqlKind) {
    this.#port = port
    this.#clock = clock
    this.#kind = kind
    this.#sweeper = new SqlSweeper(port, clock, kind)
  }

  add(task: SqlTask): void {
    if (this.#closed) return task.fail(notDone('closed', 'the store is closed'))
    this.#waiting.push(task)
    if (this.#gathering) return
    this.#gathering = true
    this.#clock.endOfTurn(() => {
      this.#gathering = false
      this.#work()
    })
    this.#work()
  }

  /** Steps of these rules, each in such a transaction. */
  steps<Rules>(rulesOf: (space: SqlSpace, key: string) => Rules): DoStep<Rules> {
    return ({ run, ...step }) =>
      new Promise((resolve, reject) => {
        this.add({
          ...step,
          run: (space, late) => run(rulesOf(space, step.key), late),
          settle: (answer) => resolve(answer as Answer<ReturnType<typeof run>>),
          fail: reject,
        })
      })
  }

  /** Ends what still waits, as not done. */
  close(): void {
    this.#closed = true
    for (const task of this.#waiting.splice(0)) task.fail(notDone('closed', 'the store is closed'))
  }

  #work(): void {
    while (this.#underWay < AT_ONCE) {
      const tasks = this.#take()
      if (tasks.length === 0) return
      void this.#run(tasks)
    }
  }

  /** Takes what can go in one transaction now, in order. */
  #take(): SqlTask[] {
    const taken: SqlTask[] = []
    const left: SqlTask[] = []
    // The keys of those that stay: later ones stay behind them.
    const passedOver = new Set<string>()
    for (const task of this.#waiting) {
      if (task.attempt.abandoned) {
        this.#alone.delete(task)
        task.fail(notDone('abandoned', 'the call was given up before it was sent'))
      } else if (this.#fits(task, taken, passedOver)) {
        taken.push(task)
      } else {
        passedOver.add(task.key)
        left.push(task)
      }
    }
    this.#waiting = left
    return taken
  }

  #fits(task: SqlTask, taken: readonly SqlTask[], passedOver: ReadonlySet<string>): boolean {
    if (this.#busyKeys.has(task.key) || passedOver.has(task.key)) return false
    const first = taken[0]
    if (first === undefined) return true
    if (taken.length >= MAX_TASKS || this.#alone.has(first) || this.#alone.has(task)) return false
    return (first.mode === 'read') === (task.mode === 'read')
  }

  async #run(tasks: readonly SqlTask[]): Promise<void> {
    this.#underWay += 1
    for (const task of tasks) {
      this.#busyKeys.add(task.key)
      this.#alone.delete(task)
    }
    const { again, written } = await new SqlBatch(this.#port, this.#clock, this.#kind, tasks).run()
    this.#underWay -= 1
    for (const { key } of tasks) this.#busyKeys.delete(key)
    if (this.#closed) for (const task of again) task.fail(notDone('closed', 'the store is closed'))
    else {
      for (const task of again) this.#alone.add(task)
      this.#waiting.unshift(...again)
    }
    this.#sweeper.wrote(written)
    this.#work()
  }
}
