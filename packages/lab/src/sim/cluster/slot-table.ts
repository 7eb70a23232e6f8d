import { SLOTS } from '../../../../holdfast/src/stores/redis/cluster/slot.ts'

/** Who has which slot, in somebody's eyes: even parts, but for slots that were moved. Nodes by their addresses. */
export class SlotTable {
  #heads: readonly string[]
  readonly #moved = new Map<number, string>()

  constructor(heads: readonly string[]) {
    this.#heads = heads
  }

  copy(): SlotTable {
    const copy = new SlotTable(this.#heads)
    for (const [slot, node] of this.#moved) copy.#moved.set(slot, node)
    return copy
  }

  ownerOf(slot: number): string {
    return this.#moved.get(slot) ?? this.#headOf(slot)
  }

  /** One slot is somebody else's. */
  set(slot: number, node: string): void {
    this.#moved.set(slot, node)
  }

  /** A node takes all slots of another. */
  replace(old: string, node: string): void {
    this.#heads = this.#heads.map((head) => (head === old ? node : head))
    for (const [slot, owner] of this.#moved) if (owner === old) this.#moved.set(slot, node)
  }

  /** As CLUSTER SLOTS has it: first, last, owner. */
  ranges(): [number, number, string][] {
    const cuts = new Set([0, SLOTS])
    for (const [index] of this.#heads.entries()) cuts.add(this.#begins(index))
    for (const slot of this.#moved.keys()) cuts.add(slot).add(slot + 1)
    const sorted = [...cuts].sort((one, other) => one - other)
    return sorted.slice(0, -1).map((from, i) => [from, (sorted[i + 1] as number) - 1, this.ownerOf(from)])
  }

  #begins(index: number): number {
    return Math.floor((index * SLOTS) / this.#heads.length)
  }

  #headOf(slot: number): string {
    const index = this.#heads.findLastIndex((_, i) => this.#begins(i) <= slot)
    return this.#heads[index] as string
  }
}
