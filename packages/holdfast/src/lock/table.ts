import { KeyTable, type Keyed } from '../key-table.ts'
import type { Contention } from './contention.ts'
import type { GrantedLease } from './granted-lease.ts'
import type { Waiter } from './waiter.ts'

/** So many entries that nobody uses are kept for other keys. */
const MOST_SPARE = 256

/** What this process does about the lock at one key: who holds it, who asks for it, who waits. */
export class LockEntry implements Keyed {
  key = ''
  hash = 0
  contention: Contention | null = null
  /** Owners that are being asked for or held: one of our process that is not among them is dead. */
  readonly owners: string[] = []
  readonly leases: GrantedLease[] = []
  /** Calls that ask and do not wait. */
  readonly asking: Waiter[] = []
}

/**
 * The entries of all keys that are in use. Entries serve again, for other keys: what lives longer than a moment is dear to the collector.
 * So an entry must not be touched by who has nothing in it.
 */
export class LockTable {
  readonly #entries: KeyTable<LockEntry>
  readonly #spare: LockEntry[] = []

  /** @param secret what nobody can guess who chooses names */
  constructor(secret: string) {
    this.#entries = new KeyTable(secret)
  }

  /** The entry of a key, made when there is none. Who asks for it adds something to it in this very turn. */
  at(key: string): LockEntry {
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = this.#spare.pop() ?? new LockEntry()
      entry.key = key
      this.#entries.add(entry)
    }
    return entry
  }

  find(key: string): LockEntry | undefined {
    return this.#entries.get(key)
  }

  /** Something was taken out of it. */
  ended(entry: LockEntry): void {
    if (entry.contention !== null || entry.owners.length > 0 || entry.asking.length > 0) return
    this.#entries.remove(entry)
    if (this.#spare.length < MOST_SPARE) this.#spare.push(entry)
  }

  /** Those that there are now: it may be changed meanwhile. */
  all(): readonly LockEntry[] {
    return this.#entries.all()
  }
}

/** Takes one out of a list whose order does not matter; true when it was there. */
export function takeOut<T>(list: T[], item: T): boolean {
  const index = list.lastIndexOf(item)
  if (index < 0) return false
  const last = list.pop() as T
  if (index < list.length) list[index] = last
  return true
}
