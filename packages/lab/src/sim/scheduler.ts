import type { Actor } from './actor.ts'

/** Something that will happen. */
export interface Happening {
  /** World time in milliseconds. */
  time: number
  /** Of those of one time, the lower comes first. */
  order: number
  /** Whom it happens to; `null` for the world itself. */
  readonly actor: Actor | null
  readonly run: () => void
  cancelled: boolean
}

/**
 * Virtual time: a heap of what happens when. One thing happens at a time, and the next only when all that follows from it at
 * once has settled.
 */
export class Scheduler {
  /** World time in milliseconds: the time that no clock in the world shows exactly. */
  now = 0
  /** How many things have happened. */
  count = 0
  readonly #heap: Happening[] = []
  #order = 0

  at(time: number, actor: Actor | null, run: () => void): Happening {
    const happening = { time: Math.max(time, this.now), order: this.#order++, actor, run, cancelled: false }
    this.#push(happening)
    return happening
  }

  /** Puts one back that could not happen yet, behind all others of its new time. */
  putOff(happening: Happening, time: number): void {
    happening.time = Math.max(time, this.now)
    happening.order = this.#order++
    this.#push(happening)
  }

  /** When the next thing happens; infinite when nothing will. */
  get nextTime(): number {
    let first = this.#heap[0]
    while (first?.cancelled === true) {
      this.#pop()
      first = this.#heap[0]
    }
    return first?.time ?? Infinity
  }

  /** Lets the next thing happen; false when there is none at or before `until`. */
  step(until: number): boolean {
    for (;;) {
      const first = this.#heap[0]
      if (first === undefined || first.time > until) return false
      this.#pop()
      if (first.cancelled) continue
      this.now = first.time
      const { actor } = first
      if (actor !== null) {
        if (!actor.alive) continue
        if (actor.holdsBack) {
          actor.putOff(first)
          continue
        }
      }
      this.count += 1
      first.run()
      return true
    }
  }

  /** Nothing happens any more until `time`. */
  passTo(time: number): void {
    this.now = Math.max(this.now, time)
  }

  #push(happening: Happening): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(happening)
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = heap[up] as Happening
      if (!before(happening, parent)) break
      heap[at] = parent
      at = up
    }
    heap[at] = happening
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop() as Happening
    const { length } = heap
    if (length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= length) break
      const right = left + 1
      const down = right < length && before(heap[right] as Happening, heap[left] as Happening) ? right : left
      const child = heap[down] as Happening
      if (!before(child, last)) break
      heap[at] = child
      at = down
    }
    heap[at] = last
  }
}

function before(one: Happening, other: Happening): boolean {
  return one.time < other.time || (one.time === other.time && one.order < other.order)
}
