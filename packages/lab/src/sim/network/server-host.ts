import { Actor } from '../actor.ts'
import { WALL_START } from '../client/process.ts'
import type { Scheduler } from '../scheduler.ts'
import { ServerIdentity } from '../server/identity.ts'
import type { ModelServer } from '../server/model-server.ts'
import { ServerError, type Reply } from '../server/reply.ts'
import { scriptIn } from '../world/scripts.ts'
import type { Link } from './link.ts'
import type { Destination } from './path.ts'

/** What of a server's data is there after it went down. */
export type Survival = 'all' | 'none' | 'as-noted'

/** A moment, as the world and a server's clock have it. */
export interface Instant {
  /** World time, in milliseconds. */
  readonly world: number
  /** The server's clock as if nobody had ever set it, in milliseconds. */
  readonly steady: number
  /** What the server's clock shows, in milliseconds. */
  readonly clock: number
  /** Rises whenever data are lost, or end early because the clock was set forward; NaN while two servers take writes. */
  readonly epoch: number
  /** Rises whenever the clock is set. */
  readonly steps: number
}

const MICROS_PER_MILLI = 1_000

/** What is known of a replica that takes over. */
export interface Replica {
  /** How long ago it was started, in milliseconds, at most as long ago as its primary. */
  readonly upFor?: number | undefined
  /** Whether it is the same server, which was a replica for a moment. */
  readonly fallsBack?: boolean
}

type Snapshot = ReturnType<ModelServer['snapshot']>

/** A server in the world: a model server, its clock, its connections. It can stand still, go down, and come back. */
export class ServerHost extends Actor implements Destination {
  readonly model: ModelServer
  down = false
  /** What it answers to every command instead of doing it. */
  refusal: string | null = null
  /** Called after everything that may have changed data. */
  onChanged: (cause: string) => void = () => undefined
  /** What it does by itself as a node of a cluster. */
  member: { answer(link: Link, command: readonly string[]): Reply | null } | null = null
  readonly #rate: number
  #epoch = 0
  #parted = false
  #steps = 0
  #offMicros: number
  readonly #links = new Set<Link>()
  readonly #channels = new Map<string, Set<Link>>()
  #noted: Snapshot | null = null

  /** When each change was made that replicas get. */
  readonly #madeAt: number[] = []

  constructor(scheduler: Scheduler, model: ModelServer, clock: { rate: number; offMillis: number }) {
    super('server', scheduler)
    this.model = model
    this.#rate = clock.rate
    this.#offMicros = clock.offMillis * 1_000
    model.identity = ServerIdentity.old(this.nowMicros)
    model.onPublish = (channel, message) => this.hear(channel, message)
  }

  /** Its clock: whole microseconds since 1970. */
  get nowMicros(): number {
    return Math.floor(WALL_START * 1_000 + this.scheduler.now * 1_000 * this.#rate + this.#offMicros)
  }

  get instant(): Instant {
    const { now } = this.scheduler
    return {
      world: now,
      steady: now * this.#rate,
      clock: Math.floor(this.nowMicros / 1_000),
      epoch: this.#parted ? NaN : this.#epoch,
      steps: this.#steps,
    }
  }

  /** World time at which its clock has gone on by so many milliseconds. */
  worldTimeIn(ms: number): number {
    return this.scheduler.now + ms / this.#rate
  }

  stepClock(ms: number): void {
    this.#offMicros += ms * 1_000
    this.#steps += 1
    if (ms > 0) this.#epoch += 1
  }

  opened(link: Link): void {
    this.#links.add(link)
  }

  closed(link: Link): void {
    this.#links.delete(link)
    for (const links of this.#channels.values()) links.delete(link)
  }

  receive(link: Link, command: readonly string[]): void {
    const name = command[0]?.toUpperCase()
    const own = this.member?.answer(link, command) ?? null
    if (own !== null) return link.answer({ kind: 'reply', reply: own })
    if (name === 'SUBSCRIBE' || name === 'SSUBSCRIBE') return this.#subscribe(link, command.slice(1))
    if (name === 'SUNSUBSCRIBE') return this.#unsubscribe(link, command.slice(1))
    if (name === 'QUIT') {
      link.answer({ kind: 'reply', reply: 'OK' })
      return link.reset('lost')
    }
    if (this.refusal !== null) {
      return link.answer({ kind: 'reply', reply: new ServerError(this.refusal) })
    }
    const script = scriptIn(command)
    const reply = this.model.execute(command, this.nowMicros)
    this.noteChanges()
    link.answer({ kind: 'reply', reply, executed: { script, at: this.instant } })
    this.onChanged(script ?? 'command')
  }

  /** Another server takes writes as well, which will be lost. */
  part(): void {
    this.#parted = true
  }

  /** It is alone again. */
  rejoin(): void {
    this.#parted = false
    this.#epoch += 1
  }

  /** Loses all data, as FLUSHALL. */
  flush(): void {
    this.#epoch += 1
    this.model.flush()
  }

  /** Notes the data as they are: what a replica has got, or the disk. */
  note(): void {
    this.#noted = this.model.snapshot()
  }

  /** A server with what a replica of this one has got that is so many milliseconds behind. Its scripts are none. */
  replica(lag: number, known?: Replica): ServerHost {
    const model = this.model.replica(this.#offsetBefore(this.scheduler.now - lag))
    const next = new ServerHost(this.scheduler, model, {
      rate: this.#rate,
      offMillis: this.#offMicros / 1_000,
    })
    const { identity } = this.model
    const { upFor = Infinity, fallsBack = false } = known ?? {}
    const started = Math.max(identity.startedMicros, this.nowMicros - upFor * MICROS_PER_MILLI)
    model.identity = identity.successor(started, fallsBack ? identity.run : undefined)
    // Its own replicas have all of that, too.
    if (known !== undefined) next.before(['PING'])
    next.#epoch = this.#epoch + 1
    next.#steps = this.#steps
    return next
  }

  /** Does something before the world begins, so long ago that every replica has it. */
  before(command: readonly string[]): void {
    this.model.execute(command, this.nowMicros)
    const { effects } = this.model
    if (effects !== null) while (this.#madeAt.length < effects.offset) this.#madeAt.push(-Infinity)
  }

  /** Changes that were made by now are made now, for replicas. */
  noteChanges(): void {
    const { effects } = this.model
    if (effects !== null) while (this.#madeAt.length < effects.offset) this.#madeAt.push(this.scheduler.now)
  }

  /** How many changes were made by then. */
  #offsetBefore(time: number): number {
    const later = this.#madeAt.findIndex((made) => made > time)
    return later === -1 ? this.#madeAt.length : later
  }

  goDown(): void {
    if (this.down) return
    this.down = true
    for (const link of this.#links) link.serverDown()
    this.#links.clear()
    this.#channels.clear()
  }

  /** A replica that was promoted: from now on it can be reached. */
  takeOver(): void {
    this.down = false
    this.onChanged('failover')
  }

  comeBack(survival: Survival): void {
    if (!this.down) return
    this.down = false
    this.model.execute(['SCRIPT', 'FLUSH'], this.nowMicros)
    this.model.identity = this.model.identity.startedAgain(this.nowMicros)
    if (survival !== 'all') this.#epoch += 1
    if (survival === 'none') this.model.flush()
    else if (survival === 'as-noted' && this.#noted !== null) this.model.restore(this.#noted)
    this.onChanged(survival === 'all' ? 'restart' : 'lost at a restart')
  }

  #subscribe(link: Link, channels: readonly string[]): void {
    for (const channel of channels) {
      const links = this.#channels.get(channel)
      if (links === undefined) this.#channels.set(channel, new Set([link]))
      else links.add(link)
    }
    link.answer({ kind: 'reply', reply: channels.length })
  }

  #unsubscribe(link: Link, channels: readonly string[]): void {
    for (const channel of channels) this.#channels.get(channel)?.delete(link)
    link.answer({ kind: 'reply', reply: channels.length })
  }

  /** Passes a message on to who listens to its channel here. @returns how many do */
  hear(channel: string, message: string): number {
    const links = this.#channels.get(channel)
    for (const link of links ?? []) link.answer({ kind: 'message', channel, message })
    return links?.size ?? 0
  }

  /** Nobody listens here any more to channels of whose slot it is not the owner. */
  dropSharded(isGone: (channel: string) => boolean): void {
    for (const channel of this.#channels.keys())
      if (channel.includes(':free:') && isGone(channel)) this.#channels.delete(channel)
  }
}
