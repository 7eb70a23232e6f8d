import type { Clock } from '../../clock.ts'
import type { Attempt } from '../../store/attempt.ts'
import type { ServerClock } from '../../store/server-clock.ts'
import type { Answer } from '../../store/contract.ts'
import { instantOf } from '../../clock.ts'
import { failureOf, isNoScript, refusalOf } from './refusal.ts'
import type { PortReply, RedisPort } from './port.ts'

/** Most items of one call: a call of more holds up other clients of the server. */
const MAX_ITEMS = 128

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

/**
 * Sends operations of one kind that are ready in the same turn of the event loop as one script call. A lone operation goes
 * at once; several calls may be in flight.
 */
export class Gatherer {
  readonly #port: RedisPort
  readonly #clock: Clock
  readonly #serverClock: ServerClock
  #batches = new Map<string, Batch>()
  #scheduled = false
  #inFlight = 0

  constructor(port: RedisPort, clock: Clock, serverClock: ServerClock) {
    this.#port = port
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
      if (sent !== null) this.#settle(sent.reply, sent.items)
    } catch (error) {
      // One key outside the ACL refuses the whole call: find out whose it is.
      const failure = failureOf(error, this.#port.client)
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

  async #send(
    kind: CallKind,
    items: readonly CallItem[],
  ): Promise<{ reply: PortReply; items: readonly CallItem[] } | null> {
    try {
      return await this.#sendAs('EVALSHA', kind.script.sha1, kind, items)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.#sendAs('EVAL', kind.script.source, kind, items)
    }
  }

  async #sendAs(
    command: string,
    script: string,
    kind: CallKind,
    items: readonly CallItem[],
  ): Promise<{ reply: PortReply; items: readonly CallItem[] } | null> {
    const until = Math.max(...items.map((item) => item.attempt.until))
    const granting = items.some((item) => item.expires)
    let live: readonly CallItem[] = []
    for (;;) {
      if (granting && !this.#serverClock.known) await this.#readTime(until)
      let clockLost = false
      const reply = await this.#port.send(() => {
        live = items.filter((item) => !item.attempt.abandoned)
        clockLost = granting && !this.#serverClock.known
        return live.length === 0 || clockLost ? null : this.#write(command, script, kind, live)
      }, until)
      if (reply !== null) return { reply, items: live }
      if (!clockLost) return null
    }
  }

  /** Writes the command, and into each attempt what it was sent with. */
  #write(command: string, script: string, kind: CallKind, items: readonly CallItem[]): readonly string[] {
    const sent = instantOf(this.#clock)
    const keys = [...kind.keys]
    const args = [...kind.args]
    for (const item of items) {
      const notAfter = item.expires ? this.#serverClock.at(item.attempt.validUntil) : null
      item.attempt.sent ??= sent
      item.attempt.notAfter = notAfter
      keys.push(...item.keys)
      args.push(...item.args(notAfter ?? 0))
    }
    return [command, script, String(keys.length), ...keys, ...args]
  }

  async #readTime(until: number): Promise<void> {
    const reply = await this.#port.send(() => ['TIME'], until)
    const [seconds, micros] = (reply?.reply as unknown[] | undefined) ?? []
    this.#serverClock.saw(Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000))
  }

  #settle({ reply, sameConnection }: PortReply, items: readonly CallItem[]): void {
    const [time, ...results] = reply as [unknown, ...unknown[][]]
    const serverTime = Number(time)
    this.#serverClock.saw(serverTime)
    items.forEach((item, i) => {
      const result = (results[i] ?? []).map(String)
      if (result[0] === 'error') item.fail(refusalOf(result[1] ?? ''))
      else item.settle({ result, serverTime, maybeTwice: !sameConnection })
    })
  }
}
