import type { Clock } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import type { ServerIdentity } from '../../store/contract.ts'
import { Attempt } from '../../store/attempt.ts'
import type { RedisLink } from './link.ts'
import type { RedisPort } from './port.ts'
import { readIdentity } from './server-identity.ts'

/** Hears about servers that answer in the place of others. */
export interface EpochListener {
  /** Another server answers than before, or the same one has started anew. @param before `null` when nobody answered who that was */
  changed(before: ServerIdentity | null, after: ServerIdentity): void
  /** The same, or nobody can say: it may not have got the last things that were done. */
  another(): void
}

/**
 * Notices when another server answers than before: asks each new connection who is at the other end, with one INFO. Where the user may
 * not ask, or a service does not tell, every connection counts as one to another server.
 */
export class EpochWatch {
  readonly #link: RedisLink
  readonly #clock: Clock
  readonly #listener: EpochListener
  /** Who answered last, by the way there; `null` where that was not told. */
  readonly #known = new WeakMap<RedisPort, ServerIdentity | null>()
  readonly #looking = new WeakSet<RedisPort>()
  /** Those that were there when the first lock was answered. One that comes later may have taken over from one of them. */
  readonly #first = new WeakSet<RedisPort>()
  #settled = false
  /** Whether there is anything to lose: nobody is asked before the first lock is. */
  begun = false

  constructor(link: RedisLink, clock: Clock, listener: EpochListener) {
    this.#link = link
    this.#clock = clock
    this.#listener = listener
  }

  /** From the answer to the first lock on. */
  begin(answer: Promise<unknown>): void {
    this.begun = true
    const look = async (): Promise<void> => {
      const ports = await this.#link.ports(this.#clock.monotonic() + bounds.safetyPoll)
      for (const port of ports) {
        this.#first.add(port)
        this.#look(port, true)
      }
      this.#settled = true
    }
    answer.then(look, look).catch(() => undefined)
  }

  /** A server is reached over a new connection. */
  connected(port: RedisPort): void {
    if (this.begun) this.#look(port, false)
  }

  /** In the background, one look at a time; a connection that is not the last any more is not asked. */
  #look(port: RedisPort, first: boolean): void {
    if (this.#looking.has(port) || !port.ready) return
    this.#looking.add(port)
    const { connection } = port
    const until = this.#clock.monotonic() + bounds.safetyPoll
    readIdentity(port, new Attempt(until, until))
      .catch(() => null)
      .then((identity) => {
        this.#looking.delete(port)
        if (port.connection !== connection) {
          // Who was at the other end of the one before is not known, and something may have been granted there.
          if (!this.#known.has(port)) this.#known.set(port, null)
          return this.#look(port, false)
        }
        this.#saw(port, identity, first)
      })
      .catch(() => undefined)
  }

  #saw(port: RedisPort, identity: ServerIdentity | null, first: boolean): void {
    const isNew = this.#settled && !this.#first.has(port) && !this.#known.has(port)
    const before = isNew ? null : this.#known.get(port)
    this.#known.set(port, identity)
    if (first) return
    if (before !== undefined && identity !== null) {
      if (before?.server === identity.server && before.copies === identity.copies) return
      this.#listener.changed(before, identity)
    }
    this.#listener.another()
  }
}
