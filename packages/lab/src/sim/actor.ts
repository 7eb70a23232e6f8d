import type { Happening, Scheduler } from './scheduler.ts'

/** What comes first when an actor goes on after it stood still. */
export type Catching = 'in-order' | 'timers-first' | 'messages-first'

/**
 * Something that does one thing at a time and can stand still: a process, or a server. What should happen to it meanwhile
 * waits, and happens when it goes on.
 */
export class Actor {
  readonly name: string
  readonly scheduler: Scheduler
  alive = true
  /** World time until which it does nothing else. */
  busyUntil = -Infinity
  #waiting: Happening[] = []
  #catching: Catching = 'in-order'
  readonly #timers = new WeakSet<Happening>()

  constructor(name: string, scheduler: Scheduler) {
    this.name = name
    this.scheduler = scheduler
  }

  /** Its present moment: that of the world, or later while it is in the midst of something that takes time. */
  get time(): number {
    return Math.max(this.scheduler.now, this.busyUntil)
  }

  /** It is busy, or stands still, for so long from now on. What comes meanwhile waits. */
  busyFor(ms: number, catching: Catching = 'in-order'): void {
    this.busyUntil = this.time + ms
    this.#catching = catching
    const until = this.busyUntil
    this.scheduler.at(until, null, () => this.#goOn(until))
  }

  isTimer(happening: Happening): void {
    this.#timers.add(happening)
  }

  /** For the scheduler: whether what happens now has to wait. */
  get holdsBack(): boolean {
    return this.busyUntil > this.scheduler.now || this.#waiting.length > 0
  }

  /** For the scheduler. */
  putOff(happening: Happening): void {
    this.#waiting.push(happening)
  }

  kill(): void {
    this.alive = false
    this.#waiting = []
  }

  #goOn(until: number): void {
    if (this.busyUntil !== until) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const happening of this.#sorted(waiting)) this.scheduler.putOff(happening, this.scheduler.now)
  }

  #sorted(waiting: readonly Happening[]): readonly Happening[] {
    if (this.#catching === 'in-order') return waiting
    const timers = waiting.filter((each) => this.#timers.has(each))
    const others = waiting.filter((each) => !this.#timers.has(each))
    return this.#catching === 'timers-first' ? [...timers, ...others] : [...others, ...timers]
  }
}
