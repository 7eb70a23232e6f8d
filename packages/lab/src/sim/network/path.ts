import type { Actor } from '../actor.ts'
import type { Dice } from '../dice.ts'
import { Hold } from './hold.ts'
import { Link, type ClientEnd, type Role, type ServerEnd } from './link.ts'
import type { Delay, Fate } from './way.ts'

/** What a path leads to: something that takes connections, unless it is down. */
export interface Destination extends ServerEnd {
  readonly down: boolean
  opened(link: Link): void
}

/** Which way of a connection something is about. */
export type Direction = 'up' | 'down' | 'both'

/** What lies between a client process and its servers, and what can be done to it. */
export interface Network {
  reset(roles: readonly Role[], fate: Fate, away?: number): void
  hold(direction: Direction, ms: number): void
  slow(delay: Delay, ms: number): void
  heal(): void
  hangUp(): void
}

/** The network between one client process and one server: its connections, and what is done to them. */
export class Path implements Network {
  readonly #client: Actor
  #server: Destination
  readonly #dice: Dice
  readonly #links = new Set<Link>()
  #usual: Delay
  #delay: Delay
  #slowUntil = -Infinity
  /** While it lasts no connection comes about. */
  readonly #cut: Hold

  constructor(parts: { client: Actor; server: Destination; dice: Dice; delay: Delay }) {
    this.#client = parts.client
    this.#cut = new Hold(parts.client.scheduler)
    this.#server = parts.server
    this.#dice = parts.dice
    this.#usual = parts.delay
    this.#delay = parts.delay
  }

  /** New connections lead to another server; those that are there stay. */
  leadTo(server: Destination): void {
    this.#server = server
  }

  get openLinks(): number {
    let count = 0
    for (const { open } of this.#links) if (open) count += 1
    return count
  }

  /** Opens a connection: `up` is called in the client with it, or `failed` when the server is down. */
  connect(role: Role, clientEnd: ClientEnd, up: (link: Link) => void, failed: () => void): void {
    const { from, to } = this.#delay
    const time = this.#client.time + this.#dice.between(from, to)
    this.#knock(time, { server: this.#server, failed }, (server, answer) => {
      const parts = { role, client: this.#client, clientEnd, server, dice: this.#dice, delay: this.#delay }
      const link = new Link(parts)
      this.#links.add(link)
      server.opened(link)
      this.#client.scheduler.at(answer, this.#client, () => up(link))
    })
  }

  /** The client's system knocks again and again, while nothing passes. */
  #knock(
    time: number,
    at: { readonly server: Destination; readonly failed: () => void },
    open: (server: Destination, answer: number) => void,
  ): void {
    const { scheduler } = this.#client
    const { from, to } = this.#delay
    const { server, failed } = at
    const knock = scheduler.at(time, server, () => {
      if (this.#cut.putsOff(knock, () => this.#knock(scheduler.now, at, open))) return
      const answer = scheduler.now + this.#dice.between(from, to)
      if (server.down) scheduler.at(answer, this.#client, failed)
      else open(server, answer)
    })
  }

  /** Connections end, and for `away` milliseconds no new one comes about. */
  reset(roles: readonly Role[], fate: Fate, away = 0): void {
    this.#keepAway(away)
    for (const link of this.#links) {
      if (!roles.includes(link.role)) continue
      link.reset(fate)
      this.#links.delete(link)
    }
  }

  /** Nothing passes for so long, in one direction or both; it arrives afterwards. Nor does a new connection come about. */
  hold(direction: Direction, ms: number): void {
    const until = this.#client.scheduler.now + ms
    this.#keepAway(ms)
    for (const { up, down } of this.#links) {
      if (direction !== 'down') up.holdUntil(until)
      if (direction !== 'up') down.holdUntil(until)
    }
  }

  /** Everything takes longer for a while. */
  slow(delay: Delay, ms: number): void {
    const { scheduler } = this.#client
    this.#slowUntil = Math.max(this.#slowUntil, scheduler.now + ms)
    this.#setDelay(delay)
    scheduler.at(this.#slowUntil, null, () => {
      if (scheduler.now >= this.#slowUntil) this.#setDelay(this.#usual)
    })
  }

  /** Everything passes again, as it usually does; what was held arrives now. */
  heal(): void {
    this.#cut.letGo()
    for (const { up, down } of this.#links) {
      up.letGo()
      down.letGo()
    }
    this.#slowUntil = -Infinity
    this.#setDelay(this.#usual)
  }

  /** The client's system ends all of its connections, as when it was killed. */
  hangUp(): void {
    for (const link of this.#links) link.hangUp()
    this.#links.clear()
  }

  #keepAway(ms: number): void {
    this.#cut.lengthen(this.#client.scheduler.now + ms)
  }

  #setDelay(delay: Delay): void {
    this.#delay = delay
    for (const { up, down } of this.#links) {
      up.delay = delay
      down.delay = delay
    }
  }
}
