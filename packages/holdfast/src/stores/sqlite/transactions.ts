import { instantOf, type Clock, type Instant, type Randomness, type Timer } from '../../clock.ts'
import type { Attempt } from '../../store/attempt.ts'
import type { Answer } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { DoStep } from '../../store/rules-step.ts'
import { failureOf, isBusy } from './refusal.ts'
import type { SqliteSession } from './session.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/** Most operations of one transaction: they run without a pause, and the event loop waits for them. */
const MAX_TASKS = 64
/** Pause before a busy database is tried again: grows from the first to the last of these, in milliseconds. */
const FIRST_PAUSE = 1
const LONGEST_PAUSE = 25

/** One operation. */
export interface Task {
  readonly attempt: Attempt
  /** Whether it must do nothing after `attempt.validUntil`. */
  readonly expires: boolean
  run(tables: SqliteTables, late: boolean): unknown
  settle(answer: Answer<unknown>): void
  fail(failure: StoreFailure): void
}

/**
 * Runs operations in transactions. A lone one runs at once; those that come in the same turn of the event loop are gathered
 * and run in one transaction, in order. When another connection keeps the database busy, all wait and are tried again after
 * pauses with jitter, each until its own end.
 */
export class Transactions {
  readonly #session: SqliteSession
  readonly #clock: Clock
  readonly #randomness: Randomness
  #waiting: Task[] = []
  #gathering = false
  #pause: Timer | null = null
  #timesBusy = 0
  #closed = false

  constructor(session: SqliteSession, clock: Clock, randomness: Randomness) {
    this.#session = session
    this.#clock = clock
    this.#randomness = randomness
  }

  /** Steps of these rules, each in such a transaction. */
  steps<Rules>(rulesOf: (tables: SqliteTables) => Rules): DoStep<Rules> {
    return ({ attempt, mode, run }) =>
      new Promise((resolve, reject) => {
        this.add({
          attempt,
          expires: mode === 'late',
          run: (tables, late) => run(rulesOf(tables), late),
          settle: (answer) => resolve(answer as Answer<ReturnType<typeof run>>),
          fail: reject,
        })
      })
  }

  add(task: Task): void {
    if (this.#closed) return task.fail(ended('closed', 'the store is closed'))
    this.#waiting.push(task)
    if (this.#gathering || this.#pause !== null) return
    this.#gather()
    this.#work()
  }

  /** Ends what still waits, as not done. */
  close(): void {
    this.#closed = true
    this.#pause?.cancel()
    for (const task of this.#waiting.splice(0)) task.fail(ended('closed', 'the store is closed'))
  }

  #gather(): void {
    this.#gathering = true
    this.#clock.endOfTurn(() => {
      this.#gathering = false
      if (this.#waiting.length === 0 || this.#pause !== null) return
      this.#gather()
      this.#work()
    })
  }

  #work(): void {
    const tasks = this.#waiting.splice(0, MAX_TASKS).filter((task) => this.#isWanted(task))
    if (tasks.length > 0) this.#transact(tasks)
  }

  #isWanted(task: Task): boolean {
    if (!task.attempt.abandoned) return true
    task.fail(ended('abandoned', 'the call was given up before it was sent'))
    return false
  }

  #transact(tasks: readonly Task[]): void {
    let tables: SqliteTables
    const sent = instantOf(this.#clock)
    try {
      tables = this.#session.begin()
    } catch (error) {
      return this.#notDone(tasks, error)
    }
    let answers: readonly (() => void)[]
    try {
      answers = this.#run(tasks, tables, sent)
    } catch (error) {
      this.#session.rollback()
      this.#session.forget()
      // One of them may be to blame: each has to answer for itself.
      if (tasks.length > 1 && !isBusy(error)) return this.#transactSingly(tasks)
      return this.#notDone(tasks, error)
    }
    try {
      this.#session.commit()
    } catch (error) {
      if (this.#session.rollback()) return this.#notDone(tasks, error)
      this.#session.forget()
      return tasks.forEach((task) => task.fail(failureOf(error, 'unknown')))
    }
    this.#timesBusy = 0
    for (const answer of answers) answer()
  }

  #transactSingly(tasks: readonly Task[]): void {
    for (const [i, task] of tasks.entries()) {
      // The one before found the database busy and waits in front: the others stay behind it.
      if (this.#pause !== null) return void this.#waiting.splice(1, 0, ...tasks.slice(i))
      this.#transact([task])
    }
  }

  /** Runs the tasks inside the transaction; their answers are to be given when it is committed. */
  #run(tasks: readonly Task[], tables: SqliteTables, sent: Instant): readonly (() => void)[] {
    const { now } = tables.begin()
    const answers = tasks.map((task) => {
      const { attempt, expires } = task
      attempt.sent = sent
      attempt.notAfter = expires ? Math.floor(now + (attempt.validUntil - sent.monotonic)) : null
      try {
        const result = task.run(tables, expires && this.#clock.monotonic() > attempt.validUntil)
        return () => task.settle({ result, serverTime: now, maybeTwice: false })
      } catch (error) {
        // A refusal of ours comes before anything was written for this task, and concerns no other.
        if (error instanceof StoreFailure) return () => task.fail(error)
        throw error
      }
    })
    tables.sweep()
    return answers
  }

  /** Nothing came of the transaction: busy ones wait for their next try, all else is a refusal. */
  #notDone(tasks: readonly Task[], error: unknown): void {
    const busy = isBusy(error)
    if (!busy) this.#session.forget()
    const failure = failureOf(error, 'not-done')
    const again: Task[] = []
    for (const task of tasks) {
      task.attempt.sent = null
      if (busy && !this.#closed && this.#clock.monotonic() < task.attempt.until) again.push(task)
      else task.fail(failure)
    }
    this.#waiting.unshift(...again)
    if (busy && this.#pause === null && this.#waiting.length > 0) this.#waitForOthers()
  }

  #waitForOthers(): void {
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.#timesBusy)
    this.#timesBusy = Math.min(this.#timesBusy + 1, LONGEST_PAUSE)
    const ms = FIRST_PAUSE + this.#randomness.fraction() * longest
    this.#pause = this.#clock.setTimer(() => {
      this.#pause = null
      if (this.#waiting.length === 0) return
      this.#gather()
      this.#work()
    }, ms)
  }
}

function ended(reason: string, message: string): StoreFailure {
  return new StoreFailure(message, { kind: 'refused', outcome: 'not-done', final: true, reason })
}
