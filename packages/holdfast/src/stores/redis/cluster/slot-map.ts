import { textOf, type NodeAddress } from './client.ts'
import { SLOTS } from './slot.ts'

/** Which node has which slot, as far as is known. */
export class SlotMap {
  #owners: (string | undefined)[] = []
  #addresses = new Map<string, NodeAddress>()

  /** Whether it was read from a node. */
  get known(): boolean {
    return this.#addresses.size > 0
  }

  /** The owners of all slots, each once. */
  get owners(): readonly NodeAddress[] {
    return [...this.#addresses.values()]
  }

  ownerOf(slot: number): NodeAddress | undefined {
    return this.#addresses.get(this.#owners[slot] ?? '')
  }

  /** A node said where a slot lies now. */
  moved(slot: number, owner: NodeAddress): void {
    this.#addresses.set(textOf(owner), owner)
    this.#owners[slot] = textOf(owner)
  }

  /**
   * Takes what a node answered to CLUSTER SLOTS; false, and nothing is changed, when that says nothing.
   *
   * @param answered the node that said it: one that it does not name is itself
   */
  read(reply: unknown, answered: NodeAddress, reachedAt: (announced: NodeAddress) => NodeAddress): boolean {
    const owners = new Array<string | undefined>(SLOTS)
    const addresses = new Map<string, NodeAddress>()
    for (const range of Array.isArray(reply) ? reply : []) {
      const [from, to, node] = Array.isArray(range) ? (range as unknown[]) : []
      const [name, number] = Array.isArray(node) ? (node as unknown[]) : []
      const host = typeof name === 'string' || Buffer.isBuffer(name) ? name.toString() : ''
      const port = Number(number)
      if (!(Number(from) >= 0 && Number(to) < SLOTS && port > 0)) return false
      const unnamed = host === '' || host === '?'
      const owner = unnamed ? { host: answered.host, port } : reachedAt({ host, port })
      addresses.set(textOf(owner), owner)
      owners.fill(textOf(owner), Number(from), Number(to) + 1)
    }
    if (addresses.size === 0) return false
    this.#owners = owners
    this.#addresses = addresses
    return true
  }
}
