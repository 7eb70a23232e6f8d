import type { Clock } from '../../clock.ts'
import { rememberFor, type Attempt } from '../../store/attempt.ts'
import { ALPHABET } from '../../store/owner.ts'

const DIGITS = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, ALPHABET.indexOf(String.fromCharCode(code))),
)
/** Three digits' worth. */
const MARKS = 64 ** 3

/** A call that counts, as it was sent first. */
export interface FirstCall {
  /** Where the server keeps its reply, and for how many milliseconds. */
  readonly replyKey: string
  readonly keepFor: number
  /** The ids of its items, in their order. */
  readonly ids: readonly string[]
}

/** An item that counts, as far as it matters here. */
export interface CountedItem {
  /** The ask's id. */
  readonly id: string
  readonly attempt: Attempt
  /** The call that it went in; `null` before it was written. */
  call: FirstCall | null
}

/** Calls of one span of time, and which ids may be among theirs. */
class Half {
  readonly calls: FirstCall[] = []
  /** Made when it is needed: it is large, and not everybody counts. */
  #marks: Int32Array | null = null

  mark(place: number): void {
    const marks = (this.#marks ??= new Int32Array(MARKS / 32))
    marks[place >> 5] = (marks[place >> 5] ?? 0) | (1 << (place & 31))
  }

  isMarked(place: number): boolean {
    return this.#marks !== null && (((this.#marks[place >> 5] ?? 0) >> (place & 31)) & 1) === 1
  }

  find(id: string): FirstCall | undefined {
    for (let i = this.calls.length - 1; i >= 0; i -= 1) {
      const call = this.calls[i]
      if (call?.ids.includes(id) === true) return call
    }
    return undefined
  }
}

/**
 * Where recent asks were sent, by their ids: asked again, their answer is looked for there. They are kept for at least twice
 * their budget and dropped by halves: no timer, and no more of them than were asked within four budgets.
 *
 * Nearly every ask is a first one, so that must be seen at once: by a mark at the place that the last three characters of an
 * id name, which differ for a quarter of a million ids in a row. Only where there is one, the calls are looked through.
 */
export class RecentCalls {
  readonly #clock: Clock
  #young = new Half()
  #old = new Half()
  /** Those that were not written yet. */
  #unwritten: CountedItem[] = []
  #turnAt = 0
  #longest = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Where an ask went, or the item itself when it was not written yet. */
  get(id: string): FirstCall | CountedItem | undefined {
    const place = placeOf(id)
    if (!this.#young.isMarked(place) && !this.#old.isMarked(place)) return undefined
    const waiting = this.#unwritten.find((item) => item.id === id)
    return waiting ?? this.#young.find(id) ?? this.#old.find(id)
  }

  /** Notes an item that is not written yet. */
  waits(item: CountedItem): void {
    this.#unwritten.push(item)
    this.#young.mark(placeOf(item.id))
  }

  /** Notes that items are being written into one call, and gives the call. */
  sent(items: readonly CountedItem[], replyKey: string): FirstCall {
    const now = this.#clock.monotonic()
    let keepFor = 1
    for (const { attempt } of items) keepFor = Math.max(keepFor, rememberFor(attempt, now))
    this.#turn(now, keepFor)
    const call = { replyKey, keepFor, ids: items.map(({ id }) => id) }
    for (const item of items) {
      item.call = call
      this.#young.mark(placeOf(item.id))
    }
    this.#young.calls.push(call)
    this.#unwritten = this.#unwritten.filter((item) => item.call === null)
    return call
  }

  /** Forgets an item that failed before it was written: nothing of it was sent. */
  failed(item: CountedItem): void {
    if (item.call === null) this.#unwritten = this.#unwritten.filter((other) => other !== item)
  }

  #turn(now: number, keepFor: number): void {
    this.#longest = Math.max(this.#longest, keepFor)
    if (now < this.#turnAt) return
    // What nothing was added to for so long is past as a whole.
    this.#old = now >= this.#turnAt + this.#longest ? new Half() : this.#young
    this.#young = new Half()
    for (const item of this.#unwritten) this.#young.mark(placeOf(item.id))
    this.#turnAt = now + this.#longest
  }
}

/** The place of an id among the marks. */
function placeOf(id: string): number {
  const end = id.length
  return (
    (digit(id.charCodeAt(end - 3)) << 12) |
    (digit(id.charCodeAt(end - 2)) << 6) |
    digit(id.charCodeAt(end - 1))
  )
}

/** The value of a character as a digit of an id; of any other (or none) some value. */
function digit(code: number): number {
  return DIGITS[code & 127] ?? 0
}
