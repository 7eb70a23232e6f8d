import process from 'node:process'
import { systemClock, type Clock, type Timer } from '../clock.ts'
import { defaults } from '../defaults.ts'
import { checkOptions } from '../options.ts'
import { errorText, toMilliseconds } from './history-answers.ts'
import { recordOf } from './history-codec.ts'
import type { HistoryLog } from './history-log.ts'
import { RecordedLock } from './history-lock.ts'
import type { Assumption, HistoryNote, HistoryRecord, Leak } from './history-record.ts'
import type { HeldLike, LockAbout, LockLike } from './history-shapes.ts'
import type { Duration } from '../duration.ts'

/** Milliseconds on the machine's monotonic clock, the same for all its processes. `performance.now()` is not: it begins with each. */
export function machineTime(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** How a recorder is made. */
export interface HistoryRecorderOptions {
  /** Names this process. No other of the history may have the name, not even one that was restarted. */
  readonly process: string
  /** Where the records go. */
  readonly log: HistoryLog
  /** For the recorder's own timers, and for its time unless `time` is given. The machine's when left out. */
  readonly clock?: Clock
  /** The time that all processes of the history share. */
  readonly time?: () => number
  /**
   * How often a hold's deadline is looked at, so that renewals are seen; a sixth of the ttl when left out. 0: never by a
   * timer of the recorder, for tests that count timers.
   */
  readonly lookEvery?: Duration
}

/** How the process itself is watched. */
export interface ProcessWatch {
  /** How often the event loop must turn. */
  readonly every?: Duration
  /** A turn that comes later than this beyond `every` is recorded as a stop. */
  readonly stallsOver?: Duration
}

/**
 * Writes the history of one process: it wraps locks so that every call, answer, loss and deadline is recorded, and takes
 * notes of everything else. It makes no round trips of its own. Its timers never keep the process alive.
 */
export class HistoryRecorder {
  readonly process: string
  readonly clock: Clock
  readonly time: () => number
  /** How often deadlines are looked at; `null` for a sixth of the ttl. */
  readonly lookEvery: number | null
  readonly #log: HistoryLog
  #calls = 0
  #watch: Timer | null = null
  #onException: ((error: unknown, origin: string) => void) | null = null

  constructor(options: HistoryRecorderOptions) {
    checkOptions(options, ['process', 'log', 'clock', 'time', 'lookEvery'], 'HistoryRecorder')
    this.process = options.process
    this.#log = options.log
    const { clock } = options
    this.clock = clock ?? systemClock
    this.time = options.time ?? (clock === undefined ? machineTime : () => clock.monotonic())
    this.lookEvery = toMilliseconds(options.lookEvery, 'lookEvery', null)
  }

  /** Appends a record; time and process are filled in, and what would be `null` may be left out. */
  note(note: HistoryNote): HistoryRecord {
    const record = recordOf(note, note.time ?? this.time(), this.process)
    this.#log.append(record)
    return record
  }

  /** An id for a call: unique in the history as long as the process's name is. */
  nextId(): string {
    this.#calls += 1
    return `${this.process}-${this.#calls}`
  }

  /** Wraps a lock of any make. Use the wrapped one in its place, and the holds that come out of it. */
  lock<H extends HeldLike>(lock: LockLike<H>, about: LockAbout): RecordedLock<H> {
    return new RecordedLock(this, lock, about)
  }

  /** Runs any other call that makes a promise, and records whether it settled in time. */
  async call<T>(
    operation: string,
    about: { name?: string; wait?: Duration; budget?: Duration | null },
    run: () => Promise<T>,
  ): Promise<T> {
    const id = this.nextId()
    const wait = toMilliseconds(about.wait, 'wait', 0)
    const budget = toMilliseconds(about.budget, 'budget', defaults.budget)
    this.note({ kind: 'call', id, operation, name: about.name ?? null, wait, budget })
    try {
      const value = await run()
      this.note({ kind: 'return', id, outcome: 'done' })
      return value
    } catch (error) {
      this.note({ kind: 'return', id, outcome: 'failed', error: errorText(error) })
      throw error
    }
  }

  /** Notes a write at a guarded resource. `order` is its place in the order in which the resource decided. */
  write(write: {
    resource: string
    fence: bigint
    accepted: boolean
    order?: number
    began?: number
    time?: number
  }): void {
    this.note({ kind: 'write', ...write })
  }

  /** Notes a key that was found in the store. `began`: when the look began. */
  key(seen: {
    key: string
    name?: string
    owner?: string
    fence?: bigint
    expiresIn: number | null
    began?: number
  }): void {
    this.note({ kind: 'key', ...seen })
  }

  /** Notes that a process stood still: for `SIGSTOP` and `SIGCONT` when it goes on again, `until: null` when it never does. */
  stop(stop: { subject?: string; from: number; until: number | null; cause?: string }): void {
    const { subject = this.process, cause = 'stopped', from, until } = stop
    this.note({ kind: 'stop', subject, cause, from, until })
  }

  /** Notes that something was broken, and which assumption with it. For one that lasts, when it is mended. */
  fault(fault: {
    cause: string
    breaks: readonly Assumption[]
    from: number
    until: number | null
    name?: string
    subject?: string
  }): void {
    this.note({ kind: 'fault', ...fault })
  }

  /** Notes that a process was killed. */
  death(subject: string): void {
    this.note({ kind: 'death', subject })
  }

  /** Notes something that was left behind. */
  leak(what: Leak['what'], detail: string): void {
    this.note({ kind: 'leak', what, detail })
  }

  /**
   * Watches this process: turns of the event loop that come late are recorded as stops, since nobody can be told anything
   * meanwhile; rejections that nobody handles as leaks (the process still ends by them, as it would).
   */
  watchProcess(watch: ProcessWatch = {}): void {
    this.#unwatch()
    checkOptions(watch, ['every', 'stallsOver'], 'watchProcess')
    const every = toMilliseconds(watch.every, 'every', 20)
    const stallsOver = toMilliseconds(watch.stallsOver, 'stallsOver', 20)
    let last = this.time()
    const turn = (): void => {
      const now = this.time()
      if (now - last > every + stallsOver) this.stop({ from: last, until: now, cause: 'stalled' })
      last = now
      this.#watch = this.clock.setTimer(turn, every)
    }
    this.#watch = this.clock.setTimer(turn, every)
    this.#onException = (error, origin) => {
      if (origin === 'unhandledRejection') this.leak('rejection', String(error))
    }
    process.on('uncaughtExceptionMonitor', this.#onException)
  }

  /**
   * Notes that the process has done all it wanted, and stops watching it. Call it last, and not before the time by which
   * all that is awaited should have come: what comes neither before nor after is only then seen to be missing.
   */
  end(): void {
    this.#unwatch()
    this.note({ kind: 'end' })
  }

  #unwatch(): void {
    this.#watch?.cancel()
    this.#watch = null
    if (this.#onException !== null) process.off('uncaughtExceptionMonitor', this.#onException)
    this.#onException = null
  }
}
