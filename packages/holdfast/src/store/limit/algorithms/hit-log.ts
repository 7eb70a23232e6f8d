/** What was counted in one millisecond. */
export interface Hit {
  readonly time: number
  readonly weight: number
}

/**
 * When what was counted, oldest first. A value that never changes, although it costs no copy: the arrays are shared with the
 * logs that came before, which look at no more than their own part of them, and are copied where two logs would part ways.
 */
export class HitLog {
  static readonly EMPTY = new HitLog([], [], 0, 0, 0, 0, null)

  readonly #times: number[]
  readonly #weights: number[]
  /** The part of the arrays that is ours. The newest hit stands apart, since it still grows. */
  readonly #head: number
  readonly #end: number
  /** Weight of the hit at the head that was dropped already. */
  readonly #cut: number
  readonly #newest: Hit | null
  /** The weight of all hits. */
  readonly used: number

  private constructor(
    times: number[],
    weights: number[],
    head: number,
    end: number,
    cut: number,
    used: number,
    newest: Hit | null,
  ) {
    this.#times = times
    this.#weights = weights
    this.#head = head
    this.#end = end
    this.#cut = cut
    this.#newest = newest
    this.used = used
  }

  /** @param hits oldest first, each of another time */
  static from(hits: readonly Hit[]): HitLog {
    const newest = hits.at(-1)
    if (newest === undefined) return HitLog.EMPTY
    const older = hits.slice(0, -1)
    return new HitLog(
      older.map(({ time }) => time),
      older.map(({ weight }) => weight),
      0,
      older.length,
      0,
      hits.reduce((sum, { weight }) => sum + weight, 0),
      newest,
    )
  }

  /** Every hit that has any weight, oldest first. */
  *[Symbol.iterator](): Generator<Hit> {
    for (const hit of this.all()) if (hit.weight > 0) yield hit
  }

  /** Every hit there is, oldest first, also those whose weight was given back: `from` makes the same log of them. */
  *all(): Generator<Hit> {
    for (let i = this.#head; i < this.#end; i += 1) yield this.#hit(i)
    if (this.#newest !== null) yield this.#newest
  }

  /** Entries that are kept, also those of hits that were dropped. */
  get kept(): number {
    return this.#times.length + (this.#newest === null ? 0 : 1)
  }

  /** The time of the newest hit that has any weight; `null` when there is none. */
  get newestTime(): number | null {
    if (this.#newest !== null && this.#newest.weight > 0) return this.#newest.time
    for (let i = this.#end - 1; i >= this.#head; i -= 1) if (this.#hit(i).weight > 0) return this.#hit(i).time
    return null
  }

  /** Whether a hit lies after `now`. */
  reachesBeyond(now: number): boolean {
    return this.#newest !== null && this.#newest.time > now
  }

  /** The time at which, in order of age, `weight` has come together; the newest when it never does. */
  timeOfWeight(weight: number): number {
    let sum = 0
    let last = 0
    for (const hit of this) {
      sum += hit.weight
      last = hit.time
      if (sum >= weight) break
    }
    return last
  }

  /** With `weight` more at `time`, which is not before the newest. */
  add(time: number, weight: number): HitLog {
    const newest = this.#newest
    const used = this.used + weight
    // Arrays of its own: those of the empty log would be everybody's.
    if (newest === null) return new HitLog([], [], 0, 0, 0, used, { time, weight })
    if (newest.time === time) return this.#with({ used, newest: { time, weight: newest.weight + weight } })
    if (newest.weight === 0) return this.#with({ used, newest: { time, weight } })
    // Another log that came from ours has gone on in these arrays: the ways part here.
    const shared = this.#times.length === this.#end
    const times = shared ? this.#times : this.#times.slice(0, this.#end)
    const weights = shared ? this.#weights : this.#weights.slice(0, this.#end)
    times.push(newest.time)
    weights.push(newest.weight)
    const next = { time, weight }
    return new HitLog(times, weights, this.#head, this.#end + 1, this.#cut, used, next)
  }

  /** Without the hits at `edge` and before it. */
  after(edge: number): HitLog {
    if (this.#newest === null || this.#newest.time <= edge) return HitLog.EMPTY
    let { used } = this
    let head = this.#head
    while (head < this.#end && (this.#times[head] ?? 0) <= edge) {
      used -= this.#hit(head).weight
      head += 1
    }
    return head === this.#head ? this : this.#from(head, 0, used)
  }

  /** Without the oldest `weight`. */
  withoutOldest(weight: number): HitLog {
    let left = Math.min(weight, this.used)
    const used = this.used - left
    let head = this.#head
    let cut = this.#cut
    while (head < this.#end) {
      const here = (this.#weights[head] ?? 0) - cut
      if (here > left) {
        cut += left
        left = 0
        break
      }
      left -= here
      head += 1
      cut = 0
    }
    const log = this.#from(head, cut, used)
    const newest = this.#newest
    if (left === 0 || newest === null) return log
    return log.#with({ used, newest: { time: newest.time, weight: newest.weight - left } })
  }

  /** With what lies after `now` moved there. Hits before it stay, also those whose weight was given back. */
  pulledBackTo(now: number): HitLog {
    if (!this.reachesBeyond(now)) return this
    const past: Hit[] = []
    let weight = this.#newest?.weight ?? 0
    for (let i = this.#head; i < this.#end; i += 1) {
      const hit = this.#hit(i)
      if (hit.time < now) past.push(hit)
      else weight += hit.weight
    }
    if (weight > 0) return HitLog.from([...past, { time: now, weight }])
    while (past.at(-1)?.weight === 0) past.pop()
    return HitLog.from(past)
  }

  /** With the hit at `time` changed by `change`, yet never below 0; `null` when there is none. */
  changed(time: number, change: number): HitLog | null {
    const newest = this.#newest
    if (newest !== null && newest.time === time) {
      const weight = Math.max(0, newest.weight + change)
      return this.#with({ used: this.used + weight - newest.weight, newest: { time, weight } })
    }
    const i = this.#find(time)
    if (i === -1) return null
    const before = this.#hit(i).weight
    const after = Math.max(0, before + change)
    const weights = this.#weights.slice(0, this.#end)
    weights[i] = (weights[i] ?? 0) + after - before
    const times = this.#times.slice(0, this.#end)
    const used = this.used + after - before
    return new HitLog(times, weights, this.#head, this.#end, this.#cut, used, newest)
  }

  #hit(i: number): Hit {
    return { time: this.#times[i] ?? 0, weight: (this.#weights[i] ?? 0) - (i === this.#head ? this.#cut : 0) }
  }

  #find(time: number): number {
    let low = this.#head
    let high = this.#end
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#times[middle] ?? 0) < time) low = middle + 1
      else high = middle
    }
    return low < this.#end && this.#times[low] === time ? low : -1
  }

  #with({ used, newest }: { used: number; newest: Hit }): HitLog {
    return new HitLog(this.#times, this.#weights, this.#head, this.#end, this.#cut, used, newest)
  }

  /** Drops what is before `head`; copies once that is the larger part, so that a hit is copied about once in its life. */
  #from(head: number, cut: number, used: number): HitLog {
    if (head < 32 || head < this.#end - head) {
      return new HitLog(this.#times, this.#weights, head, this.#end, cut, used, this.#newest)
    }
    const times = this.#times.slice(head, this.#end)
    const weights = this.#weights.slice(head, this.#end)
    return new HitLog(times, weights, 0, this.#end - head, cut, used, this.#newest)
  }
}
