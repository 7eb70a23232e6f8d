import type { Clock } from '../../clock.ts'
import type { Attempt } from '../../store/attempt.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { ServerClock } from '../../store/server-clock.ts'
import type { Answer } from '../../store/contract.ts'
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
  /** Keys and arguments that all items of a call share. Items with another `group` go in another call. */
  readonly group: string
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
  args(notAfter: number): readonly string[]
  settle(answer: Answer<readonly string[]>): void
  fail(error: unknown): void
}

interface Batch {
  readonly kind: CallKind
  readonly items: CallItem[]
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
  #batches = new Map<string, Batch>()
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
    const id = `${kind.script.name} ${kind.group}`
    const batch = this.#batches.get(id)
    if (batch === undefined) this.#batches.set(id, { kind, items: [item] })
    else batch.items.push(item)
    if (this.#scheduled) return
    if (this.#inFlight === 0) return this.#flush()
    this.#scheduled = true
    this.#clock.endOfTurn(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const batches = [...this.#batches.values()].sort((a, b) => a.kind.order - b.kind.order)
    this.#batches = new Map()
    for (const { kind, items } of batches) {
      for (let at = 0; at < items.length; at += MAX_ITEMS)
        void this.#call(kind, items.slice(at, at + MAX_ITEMS))
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
      if (items.length > 1 && !this.#scheduled) {
        this.#scheduled = true
        this.#clock.endOfTurn(() => this.#flush())
      }
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
    const until = Math.max(...items.map((item) => item.attempt.until))
    const granting = items.some((item) => item.expires)
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
    command: readonly [string, string],
    id: string,
    kind: CallKind,
    items: readonly CallItem[],
  ): readonly string[] {
    const sent = instantOf(this.#clock)
    const keys = [...kind.keys]
    const args = [id, ...kind.args]
    for (const item of items) {
      const notAfter = item.expires ? this.#serverClock.at(item.attempt.validUntil) : null
      item.attempt.sent ??= sent
      item.attempt.notAfter = notAfter
      keys.push(...item.keys)
      args.push(...item.args(notAfter ?? 0))
    }
    return [...command, String(keys.length), ...keys, ...args]
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
    if (!Array.isArray(reply) || String(reply[1]) !== id) throw mixedUp(this.#port.client)
    const [time, , ...results] = reply as [unknown, unknown, ...unknown[][]]
    const serverTime = Number(time)
    this.#serverClock.saw(serverTime)
    items.forEach((item, i) => {
      const result = (results[i] ?? []).map(String)
      if (result[0] !== 'error') return item.settle({ result, serverTime, maybeTwice: !sameConnection })
      const refusal = refusalOf(result[1] ?? '')
      item.fail(sameConnection ? refusal : asUnknown(refusal))
    })
  }
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
