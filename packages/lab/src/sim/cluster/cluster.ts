import { slotOf } from '../../../../holdfast/src/stores/redis/cluster/slot.ts'
import type { Dice } from '../dice.ts'
import { ServerHost } from '../network/server-host.ts'
import type { Scheduler } from '../scheduler.ts'
import { ModelServer } from '../server/model-server.ts'
import type { ScriptCache } from '../server/lua/script-cache.ts'
import { ClusterMember } from './member.ts'
import { SlotTable } from './slot-table.ts'

/** Until a message of one node has reached another, and it goes by it, in milliseconds. */
const GOSSIP = { from: 0.2, to: 60 }
const FIRST_PORT = 7_000
const MICROS_PER_MILLI = 1_000

/** A slot on its way. */
interface Move {
  readonly slot: number
  readonly from: ClusterMember
  readonly to: ClusterMember
}

/** A primary that died, whose replica has not taken over yet. */
interface Death {
  readonly old: string
  readonly successor: ClusterMember
  /** Whether the others miss it by now. */
  missed: boolean
}

/**
 * Several model servers that share the slots: each goes by what it knows, which may be old. Slots move with their keys, one after the other,
 * and replicas take over without what they have not got.
 */
export class ModelCluster {
  readonly #scheduler: Scheduler
  readonly #dice: Dice
  readonly #members: ClusterMember[] = []
  readonly #everyHost = new Map<string, ServerHost>()
  /** Who has which slot: a successor from the moment on in which its primary died. */
  readonly #truth: SlotTable
  /** The same, as far as anybody can know: a successor from the moment on in which it takes over. */
  readonly #announced: SlotTable
  readonly #moves: Move[] = []
  readonly #deaths = new Set<Death>()
  #made = 0
  /** Told after everything that may have changed data. */
  onChanged: (cause: string) => void = () => undefined

  constructor(
    scheduler: Scheduler,
    dice: Dice,
    { scripts, clocks }: { scripts: ScriptCache; clocks: readonly { rate: number; offMillis: number }[] },
  ) {
    this.#scheduler = scheduler
    this.#dice = dice
    const hosts = clocks.map(
      (clock) => new ServerHost(scheduler, new ModelServer({ scripts, replicated: true }), clock),
    )
    const addresses = hosts.map(() => this.#nextAddress())
    this.#truth = new SlotTable(addresses)
    this.#announced = this.#truth.copy()
    for (const [i, host] of hosts.entries()) this.#join(addresses[i] as string, host, this.#truth.copy())
  }

  /** The nodes that have slots, as clients may be given them. */
  get addresses(): readonly string[] {
    return this.#members.map(({ address }) => address)
  }

  get hosts(): readonly ServerHost[] {
    return this.#members.map(({ host }) => host)
  }

  /** The server that is, or was, at an address. */
  at(address: string): ServerHost {
    const host = this.#everyHost.get(address)
    if (host === undefined) throw new Error(`there never was a node at ${address}`)
    return host
  }

  /** Where a key is, or would be written. */
  placeOf(key: string): ServerHost {
    const slot = slotOf(key)
    const move = this.#moves.find((each) => each.slot === slot)
    if (move !== undefined && move.to.host.model.entry(key, move.to.host.nowMicros) !== undefined)
      return move.to.host
    return this.#owner(slot).host
  }

  /** Where the slot of a key would go. */
  nextPlaceOf(key: string, step: number): ServerHost {
    return this.#nextOf(this.#owner(slotOf(key)), step).host
  }

  /**
   * The slot of a key goes to another node: opened now, its keys moved one by one, and told when it is done.
   *
   * @param openFor milliseconds
   * @returns whether it was begun: not while it, or the nodes, are in the midst of something else
   */
  moveSlot(key: string, step: number, openFor: number): boolean {
    const slot = slotOf(key)
    const from = this.#owner(slot)
    const to = this.#nextOf(from, step)
    if (this.#moves.some((each) => each.slot === slot) || from.host.down || to.host.down) return false
    const move: Move = { slot, from, to }
    this.#moves.push(move)
    to.importing.add(slot)
    from.migrating.set(slot, to.address)
    // Each key at some moment; what is written anew on the old side meanwhile goes last.
    for (const each of this.#keysOf(move)) {
      this.#scheduler.at(this.#scheduler.now + this.#dice.between(0, openFor), null, () =>
        this.#moveKey(move, each),
      )
    }
    this.#scheduler.at(this.#scheduler.now + openFor, null, () => this.#finish(move))
    return true
  }

  /** Whether a slot of this key's node is on its way: its replica would know nothing of that. */
  isMoving(host: ServerHost): boolean {
    return this.#moves.some(({ from, to }) => from.host === host || to.host === host)
  }

  /**
   * A primary dies, and a replica takes over its slots after a while. Until then the others serve nobody for a part of it, since slots are
   * missing.
   */
  failOver(old: ServerHost, { lag, after }: { lag: number; after: number }): ServerHost {
    const member = this.#members.find(({ host }) => host === old)
    if (member === undefined) throw new Error('it is no node of this cluster')
    const next = old.replica(lag, {})
    old.goDown()
    next.goDown()
    const address = this.#nextAddress()
    this.#members.splice(this.#members.indexOf(member), 1)
    this.#truth.replace(member.address, address)
    const death: Death = {
      old: member.address,
      successor: this.#join(address, next, this.#truth.copy()),
      missed: false,
    }
    this.#deaths.add(death)
    const { now } = this.#scheduler
    this.#scheduler.at(now + after / 2, null, () => {
      death.missed = true
      this.#judgeMissing()
    })
    this.#scheduler.at(now + after, null, () => this.#succeed(death))
    return next
  }

  /** All is well again: what was begun is done at once, and everybody knows. */
  heal(): void {
    for (const move of [...this.#moves]) this.#finish(move)
    for (const death of [...this.#deaths]) this.#succeed(death)
    for (const member of this.#members) member.view = this.#truth.copy()
  }

  /** A replica takes over, if it has not yet. */
  #succeed(death: Death): void {
    const { old, successor } = death
    if (!this.#deaths.delete(death)) return
    successor.host.takeOver()
    this.#judgeMissing()
    this.#announced.replace(old, successor.address)
    successor.view = this.#announced.copy()
    this.#tell(successor)
  }

  #join(address: string, host: ServerHost, view: SlotTable): ClusterMember {
    const member = new ClusterMember(address, host, view)
    host.member = member
    this.#everyHost.set(address, host)
    host.onChanged = (cause) => this.onChanged(cause)
    // What is published goes to all nodes, and is counted on the one only.
    const { model } = host
    model.onPublish = (channel, message) => {
      for (const other of this.#members) if (other.host !== host) this.#passOn(other, channel, message)
      return host.hear(channel, message)
    }
    model.onPublishSharded = (channel, message) => host.hear(channel, message)
    this.#members.push(member)
    return member
  }

  #passOn({ host }: ClusterMember, channel: string, message: string): void {
    this.#scheduler.at(this.#scheduler.now + this.#gossip, host, () => void host.hear(channel, message))
  }

  get #gossip(): number {
    return this.#dice.between(GOSSIP.from, this.#dice.chance(0.7) ? 2 : GOSSIP.to)
  }

  #owner(slot: number): ClusterMember {
    const address = this.#truth.ownerOf(slot)
    return this.#members.find((member) => member.address === address) as ClusterMember
  }

  #nextOf(from: ClusterMember, step: number): ClusterMember {
    const others = this.#members.filter((member) => member !== from)
    return others[step % others.length] as ClusterMember
  }

  #keysOf({ slot, from }: Move): string[] {
    const { host } = from
    return host.model.keys(host.nowMicros).filter((key) => slotOf(key) === slot)
  }

  #moveKey({ from, to }: Move, key: string): void {
    const entry = from.host.model.takeOut(key, from.host.nowMicros)
    if (entry === undefined) return
    // What is left goes along, not the time at which it ends.
    const ahead =
      Math.floor(to.host.nowMicros / MICROS_PER_MILLI) - Math.floor(from.host.nowMicros / MICROS_PER_MILLI)
    const expires = entry.expires === null ? null : entry.expires + ahead
    to.host.model.putIn(key, { value: entry.value, expires }, to.host.nowMicros)
    from.host.noteChanges()
    to.host.noteChanges()
    this.onChanged('moved')
  }

  #finish(move: Move): void {
    const { slot, from, to } = move
    if (!this.#moves.includes(move)) return
    for (const key of this.#keysOf(move)) this.#moveKey(move, key)
    this.#moves.splice(this.#moves.indexOf(move), 1)
    this.#truth.set(slot, to.address)
    this.#announced.set(slot, to.address)
    // The new owner first, so that there is always one.
    to.importing.delete(slot)
    from.migrating.delete(slot)
    for (const member of [to, from]) member.view.set(slot, to.address)
    from.host.dropSharded((channel) => slotOf(channel) === slot)
    this.#tell(to)
    this.onChanged('moved')
  }

  /** The others hear of it, each at its time, and of nothing older after that: as in Redis, the later claim wins. */
  #tell(except: ClusterMember): void {
    for (const member of this.#members)
      if (member !== except)
        this.#scheduler.at(this.#scheduler.now + this.#gossip, null, () => {
          member.view = this.#announced.copy()
        })
  }

  /** While any of the slots has nobody, nobody serves any of them. */
  #judgeMissing(): void {
    const misses = [...this.#deaths].some(({ missed }) => missed)
    for (const member of this.#members) member.misses = misses
  }

  #nextAddress(): string {
    this.#made += 1
    return `10.0.0.${this.#made}:${FIRST_PORT}`
  }
}
