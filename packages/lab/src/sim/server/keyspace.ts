import { SortedSet } from './sorted-set.ts'

/** A hash: field and value. */
export type HashValue = Map<string, string>
/** A list. */
export type ListValue = string[]
/** A set. */
export type SetValue = Set<string>

/** What lies at a key. A string holds one byte a character. */
export type Value = string | SortedSet | HashValue | ListValue | SetValue

/** A key's value with its expiry. It is never changed: what writes a key puts another one there. */
export interface Entry {
  readonly value: Value
  /** Unix time in milliseconds, by the server's clock. Never 0. */
  readonly expires: number | null
}

/** The data of a server at one moment. Nobody changes it. */
export type Snapshot = ReadonlyMap<string, Entry>

/** What one command changed: the entries that keys had after it, null where a key was gone. */
export interface Effect {
  readonly offset: number
  readonly changes: ReadonlyMap<string, Entry | null>
}

/** The keys of one server. What has expired is not there, from the moment that Redis would say so too. */
export class Keyspace {
  readonly #entries = new Map<string, Entry>()
  /** Keys changed since the last call of {@link changes}; null while nobody asks. */
  #changed: Set<string> | null = null
  /** Milliseconds of the command that runs. */
  now = 0

  get(key: string): Value | undefined {
    return this.#live(key)?.value
  }

  /** Value and expiry: the same object for as long as nothing writes the key. */
  entry(key: string): Entry | undefined {
    return this.#live(key)
  }

  has(key: string): boolean {
    return this.#live(key) !== undefined
  }

  /** When the key expires; null for never; undefined when there is no such key. */
  expiry(key: string): number | null | undefined {
    return this.#live(key)?.expires
  }

  set(key: string, value: Value, expires: number | null): void {
    this.#entries.set(key, { value, expires })
    this.#changed?.add(key)
  }

  /** Sets the value and leaves the expiry as it is. */
  update(key: string, value: Value): void {
    this.set(key, value, this.#live(key)?.expires ?? null)
  }

  delete(key: string): boolean {
    const there = this.#live(key) !== undefined
    if (there) this.#remove(key)
    return there
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.#remove(key)
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.has(key))
  }

  snapshot(): Snapshot {
    return new Map([...this.#entries].map(([key, entry]) => [key, copyOf(entry)]))
  }

  restore(snapshot: Snapshot): void {
    this.clear()
    for (const [key, entry] of snapshot) this.put(key, entry)
  }

  /** Puts what another server had at a key, or takes the key away. */
  put(key: string, entry: Entry | null): void {
    if (entry === null) this.#remove(key)
    else {
      const { value, expires } = copyOf(entry)
      this.set(key, value, expires)
    }
  }

  /** From now on changes are told. */
  watch(): void {
    this.#changed ??= new Set()
  }

  /** What was changed since the last call. */
  changes(): Map<string, Entry | null> {
    const changes = new Map<string, Entry | null>()
    for (const key of this.#changed ?? []) {
      const entry = this.#entries.get(key)
      changes.set(key, entry === undefined ? null : copyOf(entry))
    }
    this.#changed?.clear()
    return changes
  }

  #remove(key: string): void {
    if (this.#entries.delete(key)) this.#changed?.add(key)
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.expires === null || entry.expires >= this.now) return entry
    this.#remove(key)
    return undefined
  }
}

function copyOf({ value, expires }: Entry): Entry {
  if (typeof value === 'string') return { value, expires }
  if (value instanceof SortedSet) return { value: value.copy(), expires }
  if (value instanceof Map) return { value: new Map(value), expires }
  return { value: value instanceof Set ? new Set(value) : [...value], expires }
}
