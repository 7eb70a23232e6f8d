import type { Actor } from '../actor.ts'
import type { Dice } from '../dice.ts'
import type { Scheduler } from '../scheduler.ts'
import { Hold } from './hold.ts'

/** How long a message is under way, in milliseconds: from, and up to. */
export interface Delay {
  readonly from: number
  readonly to: number
}

/** One way of a connection: messages arrive in the order in which they were sent, and only while it is not held. */
export class Way<M> {
  readonly #scheduler: Scheduler
  readonly #dice: Dice
  readonly #to: Actor
  readonly #arrive: (message: M) => void
  readonly #queue: M[] = []
  #last = 0
  readonly #hold: Hold
  #cut = false
  delay: Delay

  constructor(
    parts: { scheduler: Scheduler; dice: Dice; delay: Delay; to: Actor },
    arrive: (message: M) => void,
  ) {
    this.#scheduler = parts.scheduler
    this.#hold = new Hold(parts.scheduler)
    this.#dice = parts.dice
    this.#to = parts.to
    this.delay = parts.delay
    this.#arrive = arrive
  }

  /** Messages that are under way. */
  get underWay(): number {
    return this.#queue.length
  }

  /** @param time when it leaves */
  send(message: M, time: number): void {
    if (this.#cut) return
    this.#queue.push(message)
    this.#last = Math.max(this.#last, time + this.#dice.between(this.delay.from, this.delay.to))
    this.#expect(this.#last)
  }

  /** What is under way, or sent meanwhile, arrives after this. */
  holdUntil(time: number): void {
    this.#hold.lengthen(time)
  }

  /** Nothing is held any more: what was arrives now. */
  letGo(): void {
    this.#hold.letGo()
  }

  /** When the last of what was sent arrives, if nothing holds it. */
  get lastArrival(): number {
    return this.#last
  }

  get heldUntil(): number {
    return this.#hold.until
  }

  /** Nothing more arrives, not even what is under way. */
  cut(): void {
    this.#cut = true
    this.#queue.length = 0
  }

  #expect(time: number): void {
    const arrival = this.#scheduler.at(time, this.#to, () => {
      if (this.#cut) return
      // Each waits for the end of the hold, and then the first of the queue is taken: the order stays.
      if (this.#hold.putsOff(arrival, () => this.#expect(this.#scheduler.now))) return
      this.#arrive(this.#queue.shift() as M)
    })
  }
}

/** What comes of requests that are under way when their connection ends. */
export type Fate = 'lost' | 'arrive' | { readonly heldFor: number }
