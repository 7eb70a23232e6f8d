import type { Contender } from '../contenders/contender.ts'

const AT_ONCE = 500

/** Many locks held at once, to see what renewing them costs. */
export class Holds {
  readonly #contender: Contender
  #held: unknown[] = []

  constructor(contender: Contender) {
    this.#contender = contender
  }

  async take(count: number): Promise<void> {
    for (let from = 0; from < count; from += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) =>
        this.#contender.acquire(`held:${from + i}`),
      )
      this.#held.push(...(await Promise.all(some)))
    }
  }

  countLost(): number {
    return this.#contender.countLost?.(this.#held) ?? 0
  }

  async letGo(): Promise<void> {
    await Promise.allSettled(this.#held.map((each) => this.#contender.release(each)))
    this.#held = []
  }
}
