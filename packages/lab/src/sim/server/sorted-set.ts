interface Member {
  readonly name: string
  readonly score: number
}

/** A sorted set: members in the order of their scores, and of their bytes where scores are the same. */
export class SortedSet {
  readonly #scores: Map<string, number>
  readonly #sorted: Member[]

  constructor(scores = new Map<string, number>(), sorted: Member[] = []) {
    this.#scores = scores
    this.#sorted = sorted
  }

  get size(): number {
    return this.#sorted.length
  }

  /** From the lowest to the highest. */
  get members(): readonly Member[] {
    return this.#sorted
  }

  score(name: string): number | undefined {
    return this.#scores.get(name)
  }

  set(name: string, score: number): void {
    this.delete(name)
    this.#scores.set(name, score)
    this.#sorted.splice(this.#place(name, score), 0, { name, score })
  }

  delete(name: string): boolean {
    const score = this.#scores.get(name)
    if (score === undefined) return false
    this.#scores.delete(name)
    this.#sorted.splice(this.#place(name, score), 1)
    return true
  }

  copy(): SortedSet {
    return new SortedSet(new Map(this.#scores), [...this.#sorted])
  }

  #place(name: string, score: number): number {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      const member = this.#sorted[middle] as Member
      if (member.score < score || (member.score === score && member.name < name)) low = middle + 1
      else high = middle
    }
    return low
  }
}
