import { instantOf, type Clock } from '../../clock.ts'
import type { StoreFailure } from '../../store/failure.ts'
import type { ServerClock } from '../../store/server-clock.ts'
import type { Acknowledgement } from './acknowledge.ts'
import { laterBy, type CallItem, type CallKind } from './call-kind.ts'
import type { CallSender } from './link.ts'
import type { OwnConnection } from './own-connections.ts'
import { SentTwiceError, type RedisPort } from './port.ts'
import { asUnknown, failureOf, isNoScript, mixedUp, refusalOf } from './refusal.ts'

/** Most items of one call: a call of more holds up other clients of the server. */
const MAX_ITEMS = 128
/**
 * What is ready at once goes in several calls: the server works on one while we read the reply to another. More than this many always
 * do, in up to four; and few as well, in two, while there is no other call in flight.
 */
const SPLIT_ABOVE = 32
const CALLS_AT_ONCE = 4
/** Two calls of fewer than this are dearer than one. */
const FEWEST_OF_TWO = 4

/** What stands in place of the items' replies when one speaks of all of them. */
const ALL = 'all'

/** Where the command, the script and the number of keys go. */
const NO_HEAD: readonly string[] = ['', '', '']

/** Of an item of which the reply to all speaks. */
const NO_WORDS: readonly string[] = []

const MICROS_PER_SECOND = 1_000_000

/**
 * Sends what a server did not do to another one; false when there is none to be asked.
 *
 * @param failure the server's refusal of all of them: nothing was done
 */
export type SendElsewhere = (kind: CallKind, items: readonly CallItem[], failure: StoreFailure) => boolean

/** What is ready to go in one turn, of one kind; in a cluster, of one slot. */
interface Batch {
  readonly kind: CallKind
  readonly items: CallItem[]
}

/** Where all keys may go in one call. */
const NO_SLOT = -1

/** One script call, from its items to its reply. */
class Call {
  readonly kind: CallKind
  readonly id: string
  /** Those that it speaks of. Who was abandoned before it was sent is not among them. */
  items: readonly CallItem[]
  /** Whether the script itself is sent, since the server did not know it by its name, or may not. */
  whole: boolean
  /** Whether an earlier copy of it may still be under way. */
  sentTwice = false
  /** The port's connection over which it was sent. */
  connection = -1
  /** Whether the server is to serve a slot that is still on its way to it. */
  readonly asking: boolean

  constructor(kind: CallKind, id: string, items: readonly CallItem[], asking: boolean) {
    this.kind = kind
    this.id = id
    this.items = items
    this.asking = asking
    // Where requests arrive and replies do not, nobody hears that the server has forgotten the script.
    this.whole = items.some(({ attempt }) => attempt.afterSilence)
  }

  /** Monotonic milliseconds after which nobody waits for it. */
  get until(): number {
    return this.items.reduce((latest, { attempt }) => Math.max(latest, attempt.until), 0)
  }
}

/**
 * Sends operations of one kind that are ready in the same turn of the event loop as one script call. A lone operation goes
 * at once; several calls may be in flight.
 */
export class Gatherer implements CallSender {
  readonly #port: RedisPort
  readonly #name: string
  readonly #clock: Clock
  readonly #serverClock: ServerClock
  readonly #elsewhere: SendElsewhere | null
  /** A list, and no map: there are few, and a map's outgrown tables keep what stood in them from the collector. */
  #batches: Batch[] = []
  /** Those of the present turn by their slots, in a cluster: there are as many as names. */
  #bySlot: Map<number, Batch[]> | null = null
  #scheduled = false
  #inFlight = 0
  #calls = 0
  /** Calls that wait for a connection of their own. */
  readonly #queued: Call[] = []
  /** Monotonic milliseconds of the last answer, or of the first call after all were answered. Kept in a cluster only. */
  #heardAt = 0

  /**
   * @param name what its calls are told apart by from those of others over the same client
   * @param elsewhere what is done about items that the server refused; in a cluster
   */
  constructor(
    port: RedisPort,
    name: string,
    clock: Clock,
    serverClock: ServerClock,
    elsewhere: SendElsewhere | null = null,
  ) {
    this.#port = port
    this.#name = name
    this.#clock = clock
    this.#serverClock = serverClock
    this.#elsewhere = elsewhere
  }

  /** For how many milliseconds the server has answered nothing of what it was asked; for a server that another may stand in for. */
  get silentFor(): number {
    return this.#inFlight === 0 ? 0 : this.#clock.monotonic() - this.#heardAt
  }

  /** @param slot of the item's keys, where a call must not hold keys of several */
  add(kind: CallKind, item: CallItem, slot = NO_SLOT): void {
    if (!this.#scheduled && this.#inFlight === 0 && kind.together !== true) return this.#call(kind, [item])
    const batches = slot === NO_SLOT ? this.#batches : this.#ofSlot(slot)
    const batch = batches.find((each) => each.kind === kind)
    if (batch === undefined) {
      const begun = { kind, items: [item] }
      batches.push(begun)
      if (slot !== NO_SLOT) this.#batches.push(begun)
    } else batch.items.push(item)
    if (!this.#scheduled) this.#flushLater()
  }

  /**
   * Sends an item at once, in a call of its own.
   *
   * @param asking whether the server is to serve a slot that is still on its way to it
   */
  addAlone(kind: CallKind, item: CallItem, { asking }: { readonly asking: boolean }): void {
    this.#call(kind, [item], asking)
  }

  #ofSlot(slot: number): Batch[] {
    this.#bySlot ??= new Map()
    let batches = this.#bySlot.get(slot)
    if (batches === undefined) this.#bySlot.set(slot, (batches = []))
    return batches
  }

  #flushLater(): void {
    this.#scheduled = true
    this.#clock.endOfTurn(this.#flush)
  }

  readonly #flush = (): void => {
    this.#scheduled = false
    const batches = this.#batches
    this.#batches = []
    this.#bySlot = null
    if (batches.length > 1) batches.sort((a, b) => a.kind.order - b.kind.order)
    for (const { kind, items } of batches) {
      const { length } = items
      const each = kind.together === true ? length : this.#itemsPerCall(length)
      for (let at = 0; at < length; at += each)
        this.#call(kind, length <= each ? items : items.slice(at, at + each))
    }
  }

  #itemsPerCall(length: number): number {
    // A client that writes all commands of a turn together lets the server begin with none of them before it has the last.
    if (this.#inFlight === 0 && length <= 2 * SPLIT_ABOVE && this.#port.client === 'ioredis')
      return Math.max(FEWEST_OF_TWO, Math.ceil(length / 2))
    return Math.min(MAX_ITEMS, Math.max(SPLIT_ABOVE, Math.ceil(length / CALLS_AT_ONCE)))
  }

  #call(kind: CallKind, items: readonly CallItem[], asking = false): void {
    if (this.#elsewhere !== null && this.#inFlight === 0) this.#heardAt = this.#clock.monotonic()
    this.#inFlight += 1
    this.#calls += 1
    this.#send(new Call(kind, `${this.#name}${this.#calls.toString(36)}`, items, asking))
  }

  #send(call: Call): void {
    if (call.kind.acknowledgement !== undefined) this.#sendOwn(call, call.kind.acknowledgement)
    else if (this.#canSend(call)) this.#handOver(call)
    else {
      this.#prepare(call).then(
        () => this.#send(call),
        (error: unknown) => this.#failed(call, error),
      )
    }
  }

  #canSend({ kind }: Call): boolean {
    return this.#port.ready && (kind.expires === undefined || this.#serverClock.known)
  }

  /** Waits for a connection, and asks for the server's time before the first call that must not be done too late. */
  async #prepare(call: Call): Promise<void> {
    const { until } = call
    while (!this.#canSend(call)) {
      if (!this.#port.ready) await this.#port.whenReady(until)
      else await this.#readTime()
    }
  }

  /** Synchronously from here to the client: nothing is sent for who was abandoned before. */
  #handOver(call: Call): void {
    if (call.items.some(isAbandoned)) call.items = call.items.filter((item) => !isAbandoned(item))
    if (call.items.length === 0) return this.#ended(call)
    call.connection = this.#port.connection
    // It speaks of the very next command of this connection.
    if (call.asking) this.#port.send(['ASKING']).catch(() => undefined)
    this.#port.send(this.#write(call)).then(
      (reply) => this.#replied(call, reply),
      (error: unknown) => this.#failed(call, this.#judged(call, error)),
    )
  }

  /** The same over a connection of its own, which is lent until the replicas have answered. */
  #sendOwn(call: Call, acknowledgement: Acknowledgement): void {
    this.#queued.push(call)
    const work = async (connection: OwnConnection): Promise<void> => {
      if (!this.#takeFromQueue(call)) return
      await acknowledgement.look(connection)
      if (!this.#serverClock.known) await this.#readTime(connection)
      for (;;) {
        call.items = call.items.filter(({ attempt }) => !attempt.abandoned)
        if (call.items.length === 0) return
        // In one breath: what is waited for is what this very connection wrote just before.
        const sent = connection.send(this.#write(call))
        const acknowledged = acknowledgement.wait(connection)
        try {
          this.#settle(call, await sent, acknowledged)
          await acknowledged
          return
        } catch (error) {
          await acknowledged
          if (!isNoScript(error) || call.whole) throw error
          call.whole = true
        }
      }
    }
    this.#port.withConnection(call.until, work).then(
      () => this.#ended(call),
      (error: unknown) => {
        takeOut(this.#queued, call)
        this.#failed(call, error)
      },
    )
  }

  /** Whatever waited for a connection meanwhile goes along. False when this call itself went along with another. */
  #takeFromQueue(call: Call): boolean {
    if (!takeOut(this.#queued, call)) return false
    for (const other of this.#queued.filter(({ kind }) => kind === call.kind)) {
      if (call.items.length + other.items.length > MAX_ITEMS) break
      takeOut(this.#queued, other)
      call.items = [...call.items, ...other.items]
      other.items = []
    }
    return true
  }

  /** Writes the command, and into each attempt what it was sent with. */
  #write({ kind, id, items, whole }: Call): readonly string[] {
    const sent = instantOf(this.#clock)
    const { script } = kind
    const shared = kind.forCall?.(id, items) ?? kind
    // No list literal of its own: V8 may take to making those as old objects, and what they hold is not collected for long then.
    const words = NO_HEAD.slice()
    words[0] = whole ? 'EVAL' : 'EVALSHA'
    words[1] = whole ? script.source : script.sha1
    for (const key of shared.keys) words.push(key)
    if (kind.firstKeyOnly === true) for (const { keys } of items) words.push(keys[0] ?? '')
    else for (const { keys } of items) for (const key of keys) words.push(key)
    if (kind.keysAfter !== undefined) words.push(...kind.keysAfter)
    words[2] = String(words.length - 3)
    words.push(id, ...shared.args)
    let earliest = Infinity
    for (const { attempt } of items) {
      attempt.sent ??= sent
      if (kind.expires === undefined) continue
      attempt.notAfter = this.#serverClock.at(attempt.validUntil)
      earliest = Math.min(earliest, attempt.notAfter)
    }
    if (kind.expires === 'by-call') words.push(String(earliest))
    if (kind.write === undefined) for (const item of items) item.write(words, laterBy(item, earliest))
    else kind.write(words, items, earliest)
    return words
  }

  async #readTime(over: Pick<OwnConnection, 'send'> = this.#port): Promise<void> {
    const reply = await over.send(['TIME'])
    const time = Array.isArray(reply) ? reply.map(Number) : []
    const [seconds = NaN, micros = NaN] = time
    if (time.length !== 2 || !(seconds > 0 && micros < MICROS_PER_SECOND)) throw mixedUp(this.#port.client)
    this.#serverClock.saw(Math.floor(seconds * 1_000 + micros / 1_000))
  }

  #replied(call: Call, reply: unknown): void {
    try {
      this.#settle(call, reply)
    } catch (error) {
      return this.#failed(call, error)
    }
    this.#ended(call)
  }

  /** What the client's error says of this call. When the connection changed, it speaks of the last copy only. */
  #judged(call: Call, error: unknown): unknown {
    if (call.connection !== this.#port.connection) call.sentTwice = true
    return call.sentTwice ? new SentTwiceError(error) : error
  }

  #failed(call: Call, error: unknown): void {
    const { kind, items } = call
    if (isNoScript(error) && !call.whole) {
      call.whole = true
      return this.#send(call)
    }
    const failure = failureOf(error, this.#port.client)
    if (failure.reason === 'mixed-up') this.#port.distrust()
    if (failure.outcome === 'not-done' && this.#elsewhere?.(kind, items, failure) === true)
      return this.#ended(call)
    // One key outside the ACL refuses the whole call: find out whose it is. One that may have been done is not sent anew.
    if (failure.reason === 'NOPERM' && failure.outcome === 'not-done' && items.length > 1)
      for (const item of items) this.#call(kind, [item])
    else for (const item of items) item.fail(failure)
    this.#ended(call)
  }

  #ended({ items }: Call): void {
    if (this.#elsewhere !== null) this.#heardAt = this.#clock.monotonic()
    this.#inFlight -= 1
    // What the answers set off comes in this turn: it is gathered, not sent one by one.
    if (items.length > 1 && !this.#scheduled) this.#flushLater()
  }

  /** @param acknowledged the failure of what was done, or `null`; it is not waited for where nothing was done */
  #settle(call: Call, reply: unknown, acknowledged: Promise<StoreFailure | null> | null = null): void {
    const { kind, id, items } = call
    // A reply to another call could say "granted" of a lock that is not ours.
    if (!Array.isArray(reply) || String(reply[1]) !== id) throw mixedUp(this.#port.client)
    const whole = kind.whole !== undefined && String(reply[2]) === ALL ? kind.whole(reply) : null
    if (whole === null && reply.length !== items.length + 2) throw mixedUp(this.#port.client)
    const own = acknowledged !== null
    const twice = !own && (call.sentTwice || call.connection !== this.#port.connection)
    const serverTime = Number(reply[0])
    const clock = this.#elsewhere === null ? undefined : this.#serverClock
    this.#serverClock.saw(serverTime)
    for (let i = 0; i < items.length; i += 1) {
      const item = items[i] as CallItem
      const words = whole === null ? texts(reply[i + 2]) : NO_WORDS
      const refused = words[0] === 'error'
      const result = refused ? null : whole === null ? item.read(words) : whole(i)
      try {
        if (refused) item.fail(twice ? asUnknown(refusalOf(words[1] ?? '')) : refusalOf(words[1] ?? ''))
        else if (acknowledged === null || !isDone(result)) item.settle(result, serverTime, twice, clock)
        else settleLater(item, result, serverTime, acknowledged)
      } catch (error) {
        // Of who is told, and no concern of the others in this call.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

/** Tells an item its result when the replicas have answered, or that too few of them have it. */
function settleLater(
  item: CallItem,
  result: unknown,
  serverTime: number,
  acknowledged: Promise<StoreFailure | null>,
): void {
  void acknowledged.then((failure) => {
    if (failure === null) item.settle(result, serverTime, false)
    else item.fail(failure)
  })
}

/** Whether it was there. */
function takeOut<T>(list: T[], item: T): boolean {
  const at = list.indexOf(item)
  if (at >= 0) list.splice(at, 1)
  return at >= 0
}

/** Whether the server did what was asked for. */
function isDone(result: unknown): boolean {
  const { kind } = result as { readonly kind?: unknown }
  return kind === 'granted' || kind === 'renewed'
}

const isAbandoned = ({ attempt }: CallItem): boolean => attempt.abandoned

/** An item's reply as words: one, or several. Also from a client that is set to give buffers. */
function texts(reply: unknown): readonly string[] {
  if (!Array.isArray(reply)) return [String(reply)]
  return typeof reply[0] === 'string' ? (reply as string[]) : reply.map(String)
}
