/**
 * The search for an order of grants that a fenced mutex could have made, after J. M. Wing and C. Gong, "Testing and
 * Verifying Concurrent Objects" (1993), with the states seen before remembered as G. Lowe proposed in "Testing for
 * linearizability" (2017). Here time itself decides when a lock may be free again, so of two ways to the same set of placed
 * grants only the one that leaves the lock free earlier is followed.
 */

/** One grant as the search sees it. */
export interface Slot {
  /** It was granted at some moment of these. */
  readonly from: number
  readonly until: number
  /** It must be greater than those placed before; `null` when there is none to compare. */
  readonly fence: bigint | null
  /** It certainly ended at some moment of these; `null` when that is not known. */
  readonly confirmed: { readonly from: number; readonly until: number } | null
  /** Else it ended by itself, not before `at` and not sooner than `lasts` after the grant; `null` when it never does … */
  readonly expiry: { readonly at: number; readonly lasts: number } | null
  /** … or it may have been ended, at any moment of one of these. */
  readonly ends: readonly { readonly from: number; readonly until: number }[]
}

/** An order that fits; none; or the search was given up. */
export type Order =
  | { readonly kind: 'fits'; readonly order: readonly number[] }
  /** `placed`: the longest order that fits as far as it goes. `stuck`: one that fits in nowhere after it. */
  | { readonly kind: 'none'; readonly placed: readonly number[]; readonly stuck: number }
  | { readonly kind: 'too-many' }

/** The earliest moment at which the lock can be free again when this was granted at `granted`; infinite when never. */
export function earliestEnd(slot: Slot, granted: number): number {
  if (slot.confirmed !== null) {
    const end = Math.max(granted, slot.confirmed.from)
    return end <= slot.confirmed.until ? end : Infinity
  }
  const { expiry } = slot
  let earliest = expiry === null ? Infinity : Math.max(expiry.at, granted + expiry.lasts)
  for (const { from, until } of slot.ends) {
    const end = Math.max(granted, from)
    if (end <= until) earliest = Math.min(earliest, end)
  }
  return earliest
}

/** Whether these slots fit in exactly this order. */
export function fitsInOrder(slots: readonly Slot[]): boolean {
  let free = -Infinity
  let fence: bigint | null = null
  for (const slot of slots) {
    const granted = Math.max(slot.from, free)
    if (granted > slot.until || !rises(fence, slot.fence)) return false
    if (slot.confirmed !== null && granted > slot.confirmed.until) return false
    free = earliestEnd(slot, granted)
    fence = slot.fence ?? fence
  }
  return true
}

function rises(last: bigint | null, next: bigint | null): boolean {
  return last === null || next === null || next > last
}

/** Searches for an order in which all slots fit. Never takes more than `limit` steps. */
export function linearise(slots: readonly Slot[], limit: number): Order {
  return new Search(slots, limit).run()
}

interface Frame {
  readonly placed: number
  readonly free: number
  readonly fence: bigint | null
  /** Where the scans over the sorted indexes stand: everything before is placed. */
  readonly byStart: number
  readonly byEnd: number
  readonly byFence: number
  readonly candidates: readonly number[]
  next: number
}

class Search {
  readonly #slots: readonly Slot[]
  readonly #limit: number
  readonly #placed: boolean[]
  readonly #byStart: readonly number[]
  readonly #byEnd: readonly number[]
  readonly #byFence: readonly number[]
  /** Set of placed slots → the earliest free time it was reached with. Needless where fences leave one order only. */
  readonly #seen: Map<string, number> | null
  readonly #order: number[] = []
  #deepest: { placed: readonly number[]; stuck: number }

  constructor(slots: readonly Slot[], limit: number) {
    this.#slots = slots
    this.#limit = limit
    this.#placed = slots.map(() => false)
    const indexes = slots.map((_slot, index) => index)
    this.#byStart = indexes.toSorted((one, other) => this.#slot(one).from - this.#slot(other).from)
    this.#byEnd = indexes.toSorted((one, other) => this.#slot(one).until - this.#slot(other).until)
    this.#byFence = indexes
      .filter((index) => this.#slot(index).fence !== null)
      .sort((one, other) => compare(this.#slot(one).fence, this.#slot(other).fence))
    this.#seen = this.#byFence.length === slots.length ? null : new Map()
    this.#deepest = { placed: [], stuck: this.#byEnd[0] ?? 0 }
  }

  run(): Order {
    const start = { placed: -1, free: -Infinity, fence: null, byStart: 0, byEnd: 0, byFence: 0 }
    const frames: Frame[] = [{ ...start, candidates: this.#candidates(start), next: 0 }]
    if (this.#slots.length === 0) return { kind: 'fits', order: [] }
    for (let steps = 0; steps < this.#limit; steps += 1) {
      const frame = frames.at(-1)
      if (frame === undefined) return { kind: 'none', ...this.#deepest }
      const candidate = frame.candidates[frame.next]
      frame.next += 1
      if (candidate === undefined) {
        frames.pop()
        if (frame.placed >= 0) this.#takeBack(frame.placed)
        continue
      }
      const following = this.#place(candidate, frame)
      if (this.#order.length === this.#slots.length) return { kind: 'fits', order: this.#order }
      if (following === null) this.#takeBack(candidate)
      else frames.push(following)
    }
    return { kind: 'too-many' }
  }

  /** Places a slot; `null` when nothing can follow, or nothing that was not tried already. */
  #place(index: number, frame: Frame): Frame | null {
    const slot = this.#slot(index)
    const granted = Math.max(slot.from, frame.free)
    this.#placed[index] = true
    this.#order.push(index)
    const state = {
      placed: index,
      free: earliestEnd(slot, granted),
      fence: slot.fence ?? frame.fence,
      byStart: this.#skip(this.#byStart, frame.byStart),
      byEnd: this.#skip(this.#byEnd, frame.byEnd),
      byFence: this.#skip(this.#byFence, frame.byFence),
    }
    if (this.#seenBefore(state)) return null
    const candidates = this.#candidates(state)
    return candidates.length === 0 ? null : { ...state, candidates, next: 0 }
  }

  /**
   * The slots that may come next, the one that must come soonest first. Empty when one that is left can come no more. Those
   * with a fence come in the order of fences.
   */
  #candidates(state: Pick<Frame, 'free' | 'fence' | 'byStart' | 'byEnd' | 'byFence'>): number[] {
    const mostUrgent = this.#byEnd[state.byEnd]
    if (mostUrgent === undefined) return []
    const urgent = this.#slot(mostUrgent).until
    if (urgent < state.free) return []
    const nextFenced = this.#byFence[state.byFence]
    if (nextFenced !== undefined && !rises(state.fence, this.#slot(nextFenced).fence)) return []
    const candidates: number[] = []
    const add = (index: number): void => {
      if (this.#fitsNext(index, state.free)) candidates.push(index)
    }
    if (nextFenced !== undefined && this.#slot(nextFenced).from <= urgent) add(nextFenced)
    if (this.#seen === null) return candidates
    for (let at = state.byStart; at < this.#byStart.length; at += 1) {
      const index = this.#byStart[at] as number
      if (this.#slot(index).from > urgent) break
      if (this.#placed[index] === false && this.#slot(index).fence === null) add(index)
    }
    return candidates.sort((one, other) => this.#slot(one).until - this.#slot(other).until)
  }

  #fitsNext(index: number, free: number): boolean {
    const { from, until, confirmed } = this.#slot(index)
    const granted = Math.max(from, free)
    return granted <= until && (confirmed === null || granted <= confirmed.until)
  }

  #seenBefore(state: Pick<Frame, 'free' | 'byStart'>): boolean {
    if (this.#seen === null) return false
    // All before `byStart` are placed; beyond it, only what overlaps it in time can be.
    let key = `${state.byStart}`
    for (let at = state.byStart, left = this.#order.length - state.byStart; left > 0; at += 1) {
      const index = this.#byStart[at] as number
      if (this.#placed[index] !== true) continue
      key += `,${at}`
      left -= 1
    }
    const before = this.#seen.get(key)
    if (before !== undefined && before <= state.free) return true
    this.#seen.set(key, state.free)
    return false
  }

  #takeBack(index: number): void {
    if (this.#order.length > this.#deepest.placed.length) {
      const left = this.#byEnd.find((other) => this.#placed[other] === false)
      this.#deepest = { placed: [...this.#order], stuck: left ?? index }
    }
    this.#placed[index] = false
    this.#order.pop()
  }

  #skip(sorted: readonly number[], from: number): number {
    let at = from
    while (at < sorted.length && this.#placed[sorted[at] as number] === true) at += 1
    return at
  }

  #slot(index: number): Slot {
    return this.#slots[index] as Slot
  }
}

function compare(one: bigint | null, other: bigint | null): number {
  if (one === null || other === null || one === other) return 0
  return one < other ? -1 : 1
}
