import type { Actor } from '../actor.ts'
import type { Dice } from '../dice.ts'
import type { ScriptName } from '../plan/plan.ts'
import type { Reply } from '../server/reply.ts'
import type { Instant } from './server-host.ts'
import { Way, type Delay, type Fate } from './way.ts'

/** What a server sends: the reply to the next request, or a message of a channel. */
export type Frame =
  | { readonly kind: 'reply'; readonly reply: Reply; readonly executed?: Executed }
  | { readonly kind: 'message'; readonly channel: string; readonly message: string }

/** What a reply answers, and when that was done: nothing that a client could know. */
export interface Executed {
  readonly script: ScriptName | null
  readonly at: Instant
}

/** The client's end of a connection. */
export interface ClientEnd {
  onFrame(frame: Frame): void
  /** The connection ended, by whatever. Told once. */
  onClose(): void
}

/** The server's end. */
export interface ServerEnd extends Actor {
  receive(link: Link, command: readonly string[]): void
  closed(link: Link): void
}

/** For which of a client's two connections something is meant: its commands, or what it is told by channels. */
export type Role = 'commands' | 'channels'

/** One connection, from its being open at both ends to its end. */
export class Link {
  readonly role: Role
  readonly up: Way<readonly string[]>
  readonly down: Way<Frame>
  /** Whether the client takes it for open. */
  open = true
  readonly #client: Actor
  readonly #clientEnd: ClientEnd
  readonly #server: ServerEnd
  /** Whether the server takes it for open. */
  #served = true

  constructor(parts: {
    role: Role
    client: Actor
    clientEnd: ClientEnd
    server: ServerEnd
    dice: Dice
    delay: Delay
  }) {
    const { role, client, clientEnd, server, dice, delay } = parts
    const { scheduler } = client
    this.role = role
    this.#client = client
    this.#clientEnd = clientEnd
    this.#server = server
    this.up = new Way({ scheduler, dice, delay, to: server }, (command) => {
      if (this.#served) server.receive(this, command)
    })
    this.down = new Way({ scheduler, dice, delay, to: client }, (frame) => {
      if (this.open) clientEnd.onFrame(frame)
    })
  }

  send(command: readonly string[]): void {
    if (this.open) this.up.send(command, this.#client.time)
  }

  answer(frame: Frame): void {
    this.down.send(frame, this.#server.time)
  }

  /**
   * It ends, at both ends at once: no reply that is under way arrives.
   *
   * @param fate of the requests that are under way
   */
  reset(fate: Fate): void {
    if (!this.open) return
    this.open = false
    this.down.cut()
    const { scheduler } = this.#client
    if (fate === 'lost' || this.up.underWay === 0) {
      this.up.cut()
      this.#endAtServer()
    } else {
      // The server still has bytes to read, and finds the end behind them.
      const heldFor = fate === 'arrive' ? 0 : fate.heldFor
      const last = Math.max(this.up.lastArrival, scheduler.now + heldFor)
      if (heldFor > 0) this.up.holdUntil(scheduler.now + heldFor)
      scheduler.at(Math.max(last, this.up.heldUntil) + 1, this.#server, () => this.#endAtServer())
    }
    scheduler.at(scheduler.now, this.#client, () => this.#clientEnd.onClose())
  }

  /** The server went down, and all that it had not read with it. */
  serverDown(): void {
    this.#endAtServer()
    this.up.cut()
    this.reset('lost')
  }

  /** The client itself ends it; what it sent before arrives. It is not told. */
  hangUp(): void {
    if (!this.open) return
    this.open = false
    this.down.cut()
    const { scheduler } = this.#client
    scheduler.at(Math.max(this.up.lastArrival, this.up.heldUntil, scheduler.now) + 1, this.#server, () =>
      this.#endAtServer(),
    )
  }

  #endAtServer(): void {
    if (!this.#served) return
    this.#served = false
    this.#server.closed(this)
  }
}
