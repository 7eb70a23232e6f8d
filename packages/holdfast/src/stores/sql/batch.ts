import { instantOf, type Clock, type Instant, type Timer } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { GiveUp, SqlBounds, SqlFound, SqlKind, SqlNeeds, SqlPort, SqlTransaction } from './port.ts'
import { SqlSpace } from './space.ts'
import { notDone, type SqlTask } from './task.ts'

/** The shortest time that is given to a transaction, in milliseconds. */
const SHORTEST = 20
/** The database ends its waits after these parts of the time, so that its own word comes before we give up. */
const STATEMENT_SHARE = 0.8
const LOCK_SHARE = 0.6
/** With several keys in one transaction a wait for one of them holds up the others: then each goes alone. */
const TOGETHER_SHARE = 0.2

/** A timer that comes later than this after its time was kept back: the event loop was blocked, and answers may lie unread. */
const LATE_TIMER_MS = 10

/** How a batch ended. `again`: these were not done, and each has to go alone. */
export interface BatchEnd {
  readonly again: readonly SqlTask[]
  /** Rows that were written. */
  readonly written: number
}

/**
 * One transaction for some operations: takes the locks of their rows, reads them, lets each operation work on them, writes and
 * commits. It grants nothing unless its own side speaks a second time, so a request that is held up somewhere does nothing
 * late: the database ends a transaction that stays silent, and keeps the rows locked until then.
 *
 * Settles within a third of the time that is left to its operations, as each try of an operation does; the connection of one
 * that did not answer is ended.
 */
export class SqlBatch implements GiveUp {
  readonly #port: SqlPort
  readonly #clock: Clock
  readonly #tasks: readonly SqlTask[]
  readonly #kind: SqlKind
  readonly #within: number
  readonly #sent: Instant
  #timer: Timer | null = null
  #transaction: SqlTransaction | null = null
  #committing = false
  #extended = false
  #onGiven: (() => void) | null = null
  #finish: (end: BatchEnd) => void = () => undefined
  #over = false

  constructor(port: SqlPort, clock: Clock, kind: SqlKind, tasks: readonly SqlTask[]) {
    this.#port = port
    this.#clock = clock
    this.#kind = kind
    this.#tasks = tasks
    this.#sent = instantOf(clock)
    const left = Math.max(...tasks.map(({ attempt }) => attempt.until)) - this.#sent.monotonic
    this.#within = Math.max(SHORTEST, Math.ceil(left / bounds.triesPerBudget))
  }

  get given(): boolean {
    return this.#over
  }

  onGiven(run: () => void): void {
    this.#onGiven = run
  }

  /** Never rejects. */
  run(): Promise<BatchEnd> {
    return new Promise((resolve) => {
      this.#arm()
      this.#finish = (end) => {
        this.#timer?.cancel()
        this.#over = true
        resolve(end)
      }
      const work = this.#tasks[0]?.mode === 'read' ? this.#read() : this.#transact()
      work.catch((error: unknown) => this.#failed(error))
    })
  }

  async #read(): Promise<void> {
    for (const { attempt } of this.#tasks) attempt.sent = this.#sent
    const found = await this.#port.read(this.#needs(), this.#bounds(), this)
    if (this.#over) return
    const space = new SqlSpace(found)
    for (const task of this.#tasks) this.#work(task, space)()
    this.#finish({ again: [], written: 0 })
  }

  async #transact(): Promise<void> {
    const transaction = await this.#port.begin(this.#needs(), this.#bounds(), this)
    // What comes after we gave up has been undone already.
    if (this.#over) return
    this.#transaction = transaction
    const { answers, space } = this.#workOn(transaction.found)
    const changes = space.changes()
    if (changes === null) {
      for (const answer of answers) answer()
      await transaction.rollback()
      return this.#finish({ again: [], written: 0 })
    }
    this.#committing = true
    await transaction.commit(changes)
    if (this.#over) return
    for (const answer of answers) answer()
    const written = changes.locks.size + changes.texts.size + changes.replies.size
    this.#finish({ again: [], written })
  }

  #workOn(found: SqlFound): { answers: readonly (() => void)[]; space: SqlSpace } {
    const space = new SqlSpace(found)
    const answers = this.#tasks.map((task) => {
      const { attempt } = task
      if (attempt.abandoned) {
        const failure = notDone('abandoned', 'the call was given up before it was done')
        return () => task.fail(failure)
      }
      // The lease of a grant counts from here: the database's clock was read later.
      attempt.sent = this.#sent
      // Until then the commit may come, unless it is on its way already: a silent transaction is ended.
      attempt.notAfter = task.mode === 'late' ? space.now + this.#within + (this.#port.lateBy ?? 0) : null
      return this.#work(task, space)
    })
    return { answers, space }
  }

  /** Does one operation; the answer is to be given when its transaction is committed. */
  #work(task: SqlTask, space: SqlSpace): () => void {
    const late = task.mode === 'late' && this.#clock.monotonic() > task.attempt.validUntil
    try {
      const result = task.run(space, late)
      return () => task.settle({ result, serverTime: space.now, maybeTwice: false })
    } catch (error) {
      // A refusal of ours comes before anything was written for this task, and concerns no other.
      if (error instanceof StoreFailure) return () => task.fail(error)
      throw error
    }
  }

  #failed(error: unknown): void {
    if (this.#over) return
    const failure = this.#port.failureOf(error, this.#committing ? 'commit' : 'before')
    if (failure.outcome === 'not-done') for (const { attempt } of this.#tasks) attempt.sent = null
    // One of them may be to blame: each has to answer for itself.
    const again = this.#tasks.length > 1 && failure.kind === 'refused' && failure.outcome === 'not-done'
    if (!again) for (const task of this.#tasks) task.fail(failure)
    this.#finish({ again: again ? this.#tasks : [], written: 0 })
  }

  #arm(): void {
    const due = this.#clock.monotonic() + this.#within
    this.#timer = this.#clock.setTimer(() => this.#onTime(due), this.#within, { keepAlive: true })
  }

  /** After a blocked event loop the database is given its time once more: what it answered meanwhile is read only now. */
  #onTime(due: number): void {
    if (this.#extended || this.#clock.monotonic() - due < LATE_TIMER_MS) return this.#giveUp()
    this.#extended = true
    this.#arm()
  }

  #giveUp(): void {
    if (this.#over) return
    const unknown = this.#committing
    const failure = unknown ? silent() : notDone('silent', 'the database did not answer in time')
    if (!unknown) for (const { attempt } of this.#tasks) attempt.sent = null
    for (const task of this.#tasks) task.fail(failure)
    this.#finish({ again: [], written: 0 })
    if (this.#transaction === null) this.#onGiven?.()
    else this.#transaction.destroy()
  }

  #needs(): SqlNeeds {
    const keys = new Set(this.#tasks.map(({ key }) => key))
    const replies = new Set(this.#tasks.map(({ reply }) => reply).filter((id) => id !== null))
    return { kind: this.#kind, keys: [...keys].sort(), replies: [...replies] }
  }

  #bounds(): SqlBounds {
    const share = this.#tasks.length > 1 ? TOGETHER_SHARE : LOCK_SHARE
    return { lockWait: Math.ceil(this.#within * share), within: Math.ceil(this.#within * STATEMENT_SHARE) }
  }
}

function silent(): StoreFailure {
  return new StoreFailure('the database did not answer the commit in time', {
    kind: 'unreachable',
    outcome: 'unknown',
    final: false,
    reason: 'silent',
  })
}
