/** Three numbers a turn. */
const WIDTH = 3
const FIRST_CAPACITY = 4_096

/** Who of one process had the name, from when to when: as little work a turn as can be. */
export class TurnLog {
  #numbers = new Float64Array(FIRST_CAPACITY * WIDTH)
  #length = 0

  add(waiter: number, from: number, to: number): void {
    if (this.#length === this.#numbers.length) {
      const larger = new Float64Array(this.#numbers.length * 2)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.#length] = waiter
    this.#numbers[this.#length + 1] = from
    this.#numbers[this.#length + 2] = to
    this.#length += WIDTH
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#numbers.buffer, 0, this.#length * this.#numbers.BYTES_PER_ELEMENT)
  }
}

export interface Turn {
  readonly process: number
  readonly waiter: number
  /** By the clock that all processes share, in milliseconds. */
  readonly from: number
  readonly to: number
}

/** The turns of one process, from what its log gave. */
export function readTurns(process: number, bytes: Uint8Array): Turn[] {
  // A copy: what was read may begin anywhere in its buffer.
  const numbers = new Float64Array(new Uint8Array(bytes).buffer)
  return Array.from({ length: numbers.length / WIDTH }, (_, i) => ({
    process,
    waiter: numbers[i * WIDTH] as number,
    from: numbers[i * WIDTH + 1] as number,
    to: numbers[i * WIDTH + 2] as number,
  }))
}
