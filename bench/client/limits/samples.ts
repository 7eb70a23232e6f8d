const FIRST_CAPACITY = 65_536

/** Numbers as they come, hundreds of thousands a second: kept so that the collector has nothing to do with them. */
export class Samples {
  #numbers = new Float64Array(FIRST_CAPACITY)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(value: number): void {
    if (this.#length === this.#numbers.length) {
      const larger = new Float64Array(this.#numbers.length * 2)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.#length] = value
    this.#length += 1
  }

  values(): Float64Array {
    return this.#numbers.subarray(0, this.#length)
  }
}
