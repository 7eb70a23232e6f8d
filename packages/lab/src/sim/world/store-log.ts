import type { HistoryRecorder } from 'holdfast/testing'
import type { ServerHost } from '../network/server-host.ts'
import type { Entry } from '../server/keyspace.ts'

/** What is left is read in whole milliseconds, and set a moment later. */
const ROUNDING_MS = 1

interface Standing {
  readonly entry: Entry
  readonly value: string
  readonly owner: string
  readonly fence: bigint | null
  /** By the server's clock, in milliseconds. */
  readonly expires: number
  /** World time at which that was seen. */
  readonly toldAt: number
}

/** A lock that stands again, as an older copy of the data has it: it was granted, and told of, before. */
export interface BroughtBack {
  readonly name: string
  readonly owner: string
  /** Among what the server did to locks. */
  readonly order: number
  /** World times. */
  readonly time: number
  readonly expires: number
}

/** Tells what became of some locks on a server, in the server's own order, by looking at them after everything it did. */
export class StoreLog {
  readonly #serverOf: (key: string) => ServerHost
  readonly #recorder: HistoryRecorder
  readonly #locks: readonly { readonly name: string; readonly key: string }[]
  readonly #standing: (Standing | null)[]
  readonly #onShortened: (name: string, ms: number) => void
  readonly #granted = new Set<string>()
  #order = 0
  /** The highest fence that was given out, those that were reserved included. */
  highestFence = 0n
  readonly #highestFences: bigint[] = []
  readonly broughtBack: BroughtBack[] = []
  /** Owners from whom a lock was taken by force. */
  readonly forcedOwners = new Set<string>()

  /**
   * @param serverOf which server has a key now
   * @param onShortened told when a lease that was given ends sooner than it did
   */
  constructor(
    serverOf: (key: string) => ServerHost,
    recorder: HistoryRecorder,
    locks: readonly { readonly name: string; readonly key: string }[],
    onShortened: (name: string, ms: number) => void,
  ) {
    this.#onShortened = onShortened
    this.#serverOf = serverOf
    this.#recorder = recorder
    this.#locks = locks
    this.#standing = locks.map(() => null)
  }

  /** What stands in the lock, as far as was seen. */
  holderOf(index: number): string | null {
    return this.#standing[index]?.owner ?? null
  }

  /** The highest fence that was given out for a lock. */
  highestFenceOf(index: number): bigint {
    return this.#highestFences[index] ?? 0n
  }

  /** How long what stands in the lock will stand, in milliseconds. */
  remaining(index: number): number {
    const { key } = this.#locks[index] as { key: string }
    const { model, nowMicros } = this.#serverOf(key)
    return Math.max(0, model.pttl(key, nowMicros))
  }

  look(cause: string): void {
    for (let i = 0; i < this.#locks.length; i += 1) this.#lookAt(i, cause)
  }

  /** The server's clock was set: what stands in the locks ends sooner or later than was told. */
  lookAgain(cause: string): void {
    for (const [index, before] of this.#standing.entries())
      if (before !== null) this.#standing[index] = { ...before, expires: -1 }
    this.look(cause)
  }

  #lookAt(index: number, cause: string): void {
    const { name, key } = this.#locks[index] as { name: string; key: string }
    const server = this.#serverOf(key)
    const { model, nowMicros } = server
    const before = this.#standing[index] ?? null
    const entry = model.entry(key, nowMicros)
    if (entry !== undefined && entry === before?.entry && before.expires === entry.expires) return
    const value = entry?.value
    if (entry === undefined || typeof value !== 'string') {
      if (before !== null) this.#free(index, name, before, cause)
      return
    }
    // A key without an expiry is told of where keys are judged; here it stands for the next moment only.
    const expires = entry.expires ?? Math.floor(nowMicros / 1_000) - 1
    const left = expires - Math.floor(nowMicros / 1_000)
    if (before?.value === value) {
      if (before.expires === expires) return this.#keep(index, before, entry)
      const isAsked = cause === 'acquire' || cause === 'renew'
      if (isAsked && expires < before.expires - ROUNDING_MS) this.#onShortened(name, before.expires - expires)
      this.#standing[index] = { ...before, entry, expires, toldAt: server.scheduler.now }
      return this.#tell(index, 'renew', before, left)
    }
    if (before !== null) this.#free(index, name, before, cause)
    const [owner = '', rest = ''] = value.split('#')
    const [, digits = '', reserved = '0'] = /^(\d+)(?:\+(\d+))?/.exec(rest) ?? []
    const standing = {
      entry,
      value,
      owner,
      fence: digits === '' ? null : BigInt(digits),
      expires,
      toldAt: server.scheduler.now,
    }
    this.#standing[index] = standing
    if (this.#granted.has(value)) {
      this.#order += 1
      const { now: time } = server.scheduler
      this.broughtBack.push({ name, owner, order: this.#order, time, expires: server.worldTimeIn(left) })
      return
    }
    this.#granted.add(value)
    const highest = (standing.fence ?? 0n) + BigInt(reserved)
    if (highest > this.highestFence) this.highestFence = highest
    if (highest > this.highestFenceOf(index)) this.#highestFences[index] = highest
    this.#tell(index, 'grant', standing, left)
  }

  #keep(index: number, before: Standing, entry: Entry): void {
    this.#standing[index] = { ...before, entry }
  }

  #free(index: number, name: string, before: Standing, cause: string): void {
    this.#standing[index] = null
    const server = this.#serverOf(this.#locks[index]?.key ?? '')
    const late = Math.floor(server.nowMicros / 1_000) - before.expires
    const over = late > 0
    if (cause === 'force') this.forcedOwners.add(before.owner)
    // It was there up to now, or until it ran out.
    const time = over ? Math.max(before.toldAt, server.worldTimeIn(-late)) : server.scheduler.now
    this.#seen(index, before, time)
    this.#order += 1
    this.#recorder.note({
      kind: 'store',
      name,
      event: 'free',
      order: this.#order,
      owner: before.owner,
      cause: over ? 'expired' : cause,
    })
  }

  /** The keys of all locks that still stand. */
  seeAll(): void {
    for (const [index, standing] of this.#standing.entries()) {
      if (standing === null) continue
      const left = this.remaining(index)
      if (left > 0) this.#seen(index, standing, this.#serverOf(this.#locks[index]?.key ?? '').scheduler.now)
      else this.#free(index, this.#locks[index]?.name ?? '', standing, 'expired')
    }
  }

  #seen(index: number, { owner }: Standing, time: number): void {
    const { name, key } = this.#locks[index] as { name: string; key: string }
    this.#recorder.note({ kind: 'key', key, name, owner, expiresIn: 0, began: time, time })
  }

  #tell(index: number, event: 'grant' | 'renew', { owner, fence }: Standing, left: number): void {
    const { name, key } = this.#locks[index] as { name: string; key: string }
    this.#order += 1
    const expires = this.#serverOf(key).worldTimeIn(left)
    this.#recorder.note({ kind: 'store', name, event, order: this.#order, owner, fence, expires })
  }
}
