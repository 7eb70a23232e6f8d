import type { Clock } from '../../clock.ts'
import type { Attempt } from '../../store/attempt.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { ServerClock } from '../../store/server-clock.ts'
import { instantOf } from '../../clock.ts'
import { asUnknown, failureOf, isNoScript, mixedUp, refusalOf } from './refusal.ts'
import { SentTwiceError, type PortReply, type RedisPort } from './port.ts'

/** Most items of one call: a call of more holds up other clients of the server. */
const MAX_ITEMS = 128

const MICROS_PER_SECOND = 1_000_000

export interface Script {
  readonly name: string
  readonly source: string
  readonly sha1: string
}

/** What a kind of operation has in common: its script, and what stands before the items. */
export interface CallKind {
  readonly script: Script
  /** Keys and arguments that all items of a call share. Items of another kind go in another call, so kinds are kept. */
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** Calls are sent in this order within a turn, so that an acquire never overtakes the release of its name. */
  readonly order: number
}

/** One item of a call. */
export interface CallItem {
  readonly keys: readonly string[]
  readonly attempt: Attempt
  /** Whether the server must refuse it after `attempt.validUntil`. */
  readonly expires: boolean
  /** Adds its own arguments to the call's. */
  write(args: string[], notAfter: number): void
  settle(result: readonly string[], serverTime: number, maybeTwice: boolean): void
  fail(error: unknown): void
}

/** A reply, and the call's id and items as they were written. */
interface Sent {
  readonly id: string
  readonly reply: PortReply
  readonly items: readonly CallItem[]
}

/**
 * Sends operations of one kind that are ready in the same turn of the event loop as one script call. A lone operation goes
 * at once; several calls may be in flight.
 */
export class Gatherer {
  readonly #port: RedisPort
  readonly #name: string
  readonly #clock: Clock
  readonly #serverClock: ServerClock
  #batches = new Map<CallKind, CallItem[]>()
  #scheduled = false
  #inFlight = 0
  #calls = 0

  /** @param name what its calls are told apart by from those of others over the same client */
  constructor(port: RedisPort, name: string, clock: Clock, serverClock: ServerClock) {
    this.#port = port
    this.#name = name
    this.#clock = clock
    this.#serverClock = serverClock
  }

  add(kind: CallKind, item: CallItem): void {
    const items = this.#batches.get(kind)
    if (items === undefined) this.#batches.set(kind, [item])
    else items.push(item)
    if (this.#scheduled) return
    if (this.#inFlight === 0) return this.#flush()
    this.#flushLater()
  }

  #flushLater(): void {
    this.#scheduled = true
    this.#clock.endOfTurn(this.#flush)
  }

  readonly #flush = (): void => {
    this.#scheduled = false
    const batches = [...this.#batches]
    this.#batches.clear()
    if (batches.length > 1) batches.sort(([a], [b]) => a.order - b.order)
    for (const [kind, items] of batches) {
      for (let at = 0; at < items.length; at += MAX_ITEMS)
        void this.#call(kind, items.length <= MAX_ITEMS ? items : items.slice(at, at + MAX_ITEMS))
    }
  }

  async #call(kind: CallKind, items: readonly CallItem[]): Promise<void> {
    this.#inFlight += 1
    try {
      const sent = await this.#send(kind, items)
      if (sent !== null) this.#settle(sent)
    } catch (error) {
      // One key outside the ACL refuses the whole call: find out whose it is.
      const failure = failureOf(error, this.#port.client)
      if (failure.reason === 'mixed-up') this.#port.distrust()
      if (failure.reason === 'NOPERM' && items.length > 1) {
        for (const item of items) void this.#call(kind, [item])
      } else {
        for (const item of items) item.fail(failure)
      }
    } finally {
      this.#inFlight -= 1
      // What the answers set off comes in this turn: it is gathered, not sent one by one.
      if (items.length > 1 && !this.#scheduled) this.#flushLater()
    }
  }

  async #send(kind: CallKind, items: readonly CallItem[]): Promise<Sent | null> {
    try {
      return await this.#sendAs('EVALSHA', kind.script.sha1, kind, items)
    } catch (error) {
      if (!isNoScript(error)) throw error
      const whole = this.#sendAs('EVAL', kind.script.source, kind, items)
      return error instanceof SentTwiceError ? afterSentTwice(whole) : whole
    }
  }

  async #sendAs(
    command: string,
    script: string,
    kind: CallKind,
    items: readonly CallItem[],
  ): Promise<Sent | null> {
    const until = items.reduce((latest, { attempt }) => Math.max(latest, attempt.until), 0)
    const granting = items.some(({ expires }) => expires)
    const id = this.#nextId()
    let live: readonly CallItem[] = []
    for (;;) {
      if (granting && !this.#serverClock.known) await this.#readTime(until)
      let clockLost = false
      const reply = await this.#port.send(() => {
        live = items.filter((item) => !item.attempt.abandoned)
        clockLost = granting && !this.#serverClock.known
        return live.length === 0 || clockLost ? null : this.#write([command, script], id, kind, live)
      }, until)
      if (reply !== null) return { id, reply, items: live }
      if (!clockLost) return null
    }
  }

  /** Writes the command, and into each attempt what it was sent with. */
  #write(
    [command, script]: readonly [string, string],
    id: string,
    kind: CallKind,
    items: readonly CallItem[],
  ): readonly string[] {
    const sent = instantOf(this.#clock)
    const words = [command, script, '', ...kind.keys]
    for (const { keys } of items) for (const key of keys) words.push(key)
    words[2] = String(words.length - 3)
    words.push(id, ...kind.args)
    for (const item of items) {
      const { attempt, expires } = item
      const notAfter = expires ? this.#serverClock.at(attempt.validUntil) : null
      attempt.sent ??= sent
      attempt.notAfter = notAfter
      item.write(words, notAfter ?? 0)
    }
    return words
  }

  #nextId(): string {
    this.#calls += 1
    return `${this.#name}${this.#calls.toString(36)}`
  }

  async #readTime(until: number): Promise<void> {
    const reply = await this.#port.send(() => ['TIME'], until)
    if (reply === null) return
    const time = Array.isArray(reply.reply) ? reply.reply.map(Number) : []
    const [seconds = NaN, micros = NaN] = time
    if (time.length !== 2 || !(seconds > 0 && micros < MICROS_PER_SECOND)) throw mixedUp(this.#port.client)
    this.#serverClock.saw(Math.floor(seconds * 1_000 + micros / 1_000))
  }

  #settle({ id, reply: { reply, sameConnection }, items }: Sent): void {
    // A reply to another call could say "granted" of a lock that is not ours.
    const complete = Array.isArray(reply) && reply.length === items.length + 2
    if (!complete || String(reply[1]) !== id) throw mixedUp(this.#port.client)
    const serverTime = Number(reply[0])
    this.#serverClock.saw(serverTime)
    items.forEach((item, i) => {
      const result = texts(reply[i + 2])
      if (result[0] !== 'error') return item.settle(result, serverTime, !sameConnection)
      const refusal = refusalOf(result[1] ?? '')
      item.fail(sameConnection ? refusal : asUnknown(refusal))
    })
  }
}

/** An item's reply as words: one, or several. Also from a client that is set to give buffers. */
function texts(reply: unknown): readonly string[] {
  if (!Array.isArray(reply)) return [String(reply)]
  return typeof reply[0] === 'string' ? (reply as string[]) : reply.map(String)
}

/** What came of a call of which an earlier copy may still be under way. */
async function afterSentTwice(call: Promise<Sent | null>): Promise<Sent | null> {
  try {
    const sent = await call
    return sent === null ? null : { ...sent, reply: { ...sent.reply, sameConnection: false } }
  } catch (error) {
    throw error instanceof StoreFailure ? error : new SentTwiceError(error)
  }
}
