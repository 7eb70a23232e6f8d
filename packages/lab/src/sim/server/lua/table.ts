import { LuaError, raise } from './errors.ts'
import type { LuaValue } from './values.ts'

/** A table of a script: the values of 1, 2, 3 … lie in an array, as in Lua itself, all others in a map. */
export class LuaTable {
  /** May have gaps, but never ends with nil. */
  readonly array: LuaValue[]
  #map: Map<LuaValue, LuaValue> | null = null
  /** Asked for what is not there: a table, or a function of table and key. */
  metatable: LuaTable | null = null
  /** Whether scripts must not change it. */
  readonly = false

  constructor(array: LuaValue[] = []) {
    this.array = array
    this.#trim()
  }

  /** What lies there itself, whatever the metatable says. */
  get(key: LuaValue): LuaValue {
    if (typeof key === 'number') {
      const { array } = this
      if (key >= 1 && key <= array.length && Number.isInteger(key)) return array[key - 1]
    }
    return this.#map === null ? undefined : this.#map.get(key)
  }

  set(key: LuaValue, value: LuaValue): void {
    if (this.readonly) raise('Attempt to modify a readonly table')
    if (typeof key === 'number' && this.#setAt(key, value)) return
    if (value === undefined) {
      // A loop may stand on it, and goes on from there.
      if (this.#map?.has(key) === true) this.#map.set(key, undefined)
      return
    }
    if (key === undefined) raise('table index is nil')
    if (Number.isNaN(key)) raise('table index is NaN')
    this.#map ??= new Map()
    this.#map.set(key, value)
  }

  /** An index behind which there is nothing. */
  get length(): number {
    return this.array.length
  }

  /** Key and value that follow a key; undefined at the end. What was removed meanwhile is passed over. */
  next(key: LuaValue): readonly [LuaValue, LuaValue] | undefined {
    const { array } = this
    const inArray = key === undefined ? 0 : this.#isIndex(key) ? (key as number) : null
    if (inArray !== null) {
      for (let at = inArray; at < array.length; at++) if (array[at] !== undefined) return [at + 1, array[at]]
    }
    // A number that is not there stood in the array before that became shorter.
    let found = inArray !== null || (typeof key === 'number' && this.#map?.has(key) !== true)
    for (const pair of this.#map ?? []) {
      if (found && pair[1] !== undefined) return pair
      found ||= pair[0] === key
    }
    if (!found) throw new LuaError("invalid key to 'next'")
    return undefined
  }

  /** All keys and values that are there now. */
  pairs(): [LuaValue, LuaValue][] {
    const pairs: [LuaValue, LuaValue][] = []
    for (let next = this.next(undefined); next !== undefined; next = this.next(next[0])) pairs.push([...next])
    return pairs
  }

  #isIndex(key: LuaValue): boolean {
    return typeof key === 'number' && key >= 1 && key <= this.array.length && Number.isInteger(key)
  }

  /** Whether the key is one of the array, or comes next to its end. */
  #setAt(key: number, value: LuaValue): boolean {
    const { array } = this
    if (key === array.length + 1) {
      if (value === undefined) return this.#map === null
      array.push(value)
      if (this.#map !== null) this.#grow(this.#map)
      return true
    }
    if (!this.#isIndex(key)) return false
    array[key - 1] = value
    if (value === undefined) this.#trim()
    return true
  }

  #trim(): void {
    const { array } = this
    while (array.length > 0 && array[array.length - 1] === undefined) array.pop()
  }

  /** What comes next to the array's end moves into it. */
  #grow(map: Map<LuaValue, LuaValue>): void {
    map.delete(this.array.length)
    for (;;) {
      const next = this.array.length + 1
      const value = map.get(next)
      if (value === undefined) return
      map.delete(next)
      this.array.push(value)
    }
  }
}
