import type { Clock } from '../clock.ts'

/** Answers without the store in one turn of the event loop: few enough that what else is due is hardly kept waiting. */
const MOST_OF_A_TURN = 1_000

/**
 * Gives answers that took no round trip. Nobody who loops over them ever leaves the present turn, in which neither timers nor
 * sockets are served, and that would hold up the whole process, our own calls to the store included. So after many the rest
 * waits for the next turn.
 */
export class LocalAnswers {
  readonly #clock: Clock
  #given = 0
  #nextTurn: Promise<void> | null = null
  #begin: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The answer, at once or in the next turn. */
  of<T>(answer: T): T | Promise<T> {
    if (this.#given === 0) this.#clock.endOfTurn(this.#over)
    this.#given += 1
    if (this.#given <= MOST_OF_A_TURN) return answer
    this.#nextTurn ??= new Promise((resolve) => {
      this.#begin = resolve
    })
    return this.#nextTurn.then(() => answer)
  }

  readonly #over = (): void => {
    this.#given = 0
    this.#nextTurn = null
    this.#begin?.()
    this.#begin = null
  }
}
