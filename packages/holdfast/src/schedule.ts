import type { Clock, Timer } from './clock.ts'

/** The `heapIndex` of an entry that is in no schedule, and of one whose turn to be called comes in this very moment. */
const OUT = -1
const CALLED_NEXT = -2

/** Something that wants to be called at a time. It keeps its own place in the heap, so that it can be taken out cheaply. */
export interface Scheduled {
  /** Monotonic milliseconds. */
  dueAt: number
  /** Milliseconds by which it may be called early, together with another that is due. */
  early: number
  /** Its place in the heap; negative while it is in none. Begins as -1. */
  heapIndex: number
  /** Called when its time has come; it is out of the schedule then and may be added again. */
  onDue(): void
}

/**
 * One timer for many: a binary heap of what is due when, and one timer of the clock for the earliest. Thousands of held
 * locks cost one timer. What may be called early is called together with what is due, so that calls to the store can be
 * gathered.
 */
export class Schedule {
  readonly #clock: Clock
  readonly #keepAlive: boolean
  readonly #heap: Scheduled[] = []
  #timer: Timer | null = null
  #armedFor = Infinity
  /** Whether the timer is set for nothing in here. */
  #resting = false

  /** @param options `keepAlive`: whether the process stays alive while something is in it. Default: it does not. */
  constructor(clock: Clock, options: { keepAlive?: boolean } = {}) {
    this.#clock = clock
    this.#keepAlive = options.keepAlive === true
  }

  get size(): number {
    return this.#heap.length
  }

  /** Adds an entry, or moves it to its new `dueAt`. */
  put(entry: Scheduled, dueAt: number): void {
    entry.dueAt = dueAt
    if (entry.heapIndex < 0) {
      entry.heapIndex = this.#heap.length
      this.#heap.push(entry)
      this.#rise(entry)
    } else {
      this.#rise(entry)
      this.#sink(entry)
    }
    this.#arm()
  }

  /** Takes an entry out. It is not called, not even when it is due in this moment. */
  remove(entry: Scheduled): void {
    if (entry.heapIndex >= 0) {
      this.#takeOut(entry)
      this.#arm()
    }
    entry.heapIndex = OUT
  }

  #takeOut(entry: Scheduled): void {
    const last = this.#heap.pop() as Scheduled
    if (last !== entry) {
      this.#place(last, entry.heapIndex)
      this.#rise(last)
      this.#sink(last)
    }
    entry.heapIndex = OUT
  }

  /** Sets the timer when it would come too late. One that comes early costs nothing. */
  #arm(): void {
    const first = this.#heap[0]
    if (first === undefined) return this.#rest()
    if (first.dueAt < this.#armedFor) {
      this.#timer?.cancel()
      this.#armedFor = first.dueAt
      this.#timer = this.#clock.setTimer(this.#fire, Math.max(0, first.dueAt - this.#clock.monotonic()), {
        keepAlive: this.#keepAlive,
      })
    } else if (this.#resting && this.#keepAlive) this.#timer?.setKeepAlive?.(true)
    this.#resting = false
  }

  /** Nothing is left. The timer stays for what comes next, if the process does not stay alive for it: setting one is dear. */
  #rest(): void {
    if (this.#timer === null || this.#resting) return
    if (this.#timer.setKeepAlive === undefined) {
      this.#timer.cancel()
      this.#timer = null
      this.#armedFor = Infinity
      return
    }
    this.#resting = true
    if (this.#keepAlive) this.#timer.setKeepAlive(false)
  }

  readonly #fire = (): void => {
    this.#timer = null
    this.#armedFor = Infinity
    this.#resting = false
    const now = this.#clock.monotonic()
    const due: Scheduled[] = []
    for (
      let first = this.#heap[0];
      first !== undefined && first.dueAt - first.early <= now;
      first = this.#heap[0]
    ) {
      this.#takeOut(first)
      first.heapIndex = CALLED_NEXT
      due.push(first)
    }
    try {
      for (const entry of due) {
        // One that another's call put back or took out meanwhile is not called.
        if (entry.heapIndex !== CALLED_NEXT) continue
        entry.heapIndex = OUT
        entry.onDue()
      }
    } finally {
      // One that throws does not take the others along.
      for (const entry of due) if (entry.heapIndex === CALLED_NEXT) this.put(entry, entry.dueAt)
      this.#arm()
    }
  }

  #place(entry: Scheduled, index: number): void {
    this.#heap[index] = entry
    entry.heapIndex = index
  }

  #rise(entry: Scheduled): void {
    let index = entry.heapIndex
    while (index > 0) {
      const parent = this.#heap[(index - 1) >> 1] as Scheduled
      if (parent.dueAt <= entry.dueAt) break
      this.#place(parent, index)
      index = (index - 1) >> 1
    }
    this.#place(entry, index)
  }

  #sink(entry: Scheduled): void {
    let index = entry.heapIndex
    for (;;) {
      const left = this.#heap[2 * index + 1]
      if (left === undefined) break
      const right = this.#heap[2 * index + 2]
      const child = right !== undefined && right.dueAt < left.dueAt ? right : left
      if (child.dueAt >= entry.dueAt) break
      const next = child.heapIndex
      this.#place(child, index)
      index = next
    }
    this.#place(entry, index)
  }
}
