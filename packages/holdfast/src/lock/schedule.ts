import type { Clock, Timer } from '../clock.ts'

/** Something that wants to be called at a time. It keeps its own place in the heap, so that it can be taken out cheaply. */
export interface Scheduled {
  /** Monotonic milliseconds. */
  dueAt: number
  /** Milliseconds by which it may be called early, together with another that is due. */
  early: number
  /** Its place in the heap; -1 while it is in none. */
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
  readonly #heap: Scheduled[] = []
  #timer: Timer | null = null
  #armedFor = Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#heap.length
  }

  /** Adds an entry, or moves it to its new `dueAt`. */
  put(entry: Scheduled, dueAt: number): void {
    entry.dueAt = dueAt
    if (entry.heapIndex === -1) {
      entry.heapIndex = this.#heap.length
      this.#heap.push(entry)
      this.#rise(entry)
    } else {
      this.#rise(entry)
      this.#sink(entry)
    }
    this.#arm()
  }

  remove(entry: Scheduled): void {
    if (entry.heapIndex === -1) return
    this.#takeOut(entry)
    this.#arm()
  }

  #takeOut(entry: Scheduled): void {
    const last = this.#heap.pop() as Scheduled
    if (last !== entry) {
      this.#place(last, entry.heapIndex)
      this.#rise(last)
      this.#sink(last)
    }
    entry.heapIndex = -1
  }

  /** Sets the timer when it would come too late, and takes it away when nothing is left. One that comes early costs nothing. */
  #arm(): void {
    const first = this.#heap[0]
    if (first === undefined) {
      this.#timer?.cancel()
      this.#timer = null
      this.#armedFor = Infinity
    } else if (first.dueAt < this.#armedFor) {
      this.#timer?.cancel()
      this.#armedFor = first.dueAt
      this.#timer = this.#clock.setTimer(
        () => this.#fire(),
        Math.max(0, first.dueAt - this.#clock.monotonic()),
      )
    }
  }

  #fire(): void {
    this.#timer = null
    this.#armedFor = Infinity
    const now = this.#clock.monotonic()
    const due: Scheduled[] = []
    for (
      let first = this.#heap[0];
      first !== undefined && first.dueAt - first.early <= now;
      first = this.#heap[0]
    ) {
      this.#takeOut(first)
      due.push(first)
    }
    for (const entry of due) {
      // One that was put back by another's call has a new time.
      if (entry.heapIndex === -1) entry.onDue()
    }
    this.#arm()
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
