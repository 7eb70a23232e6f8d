import { createHoldfast, type Holdfast, type HoldfastOptions } from '../holdfast.ts'
import { lockAddress } from '../name.ts'
import { quorumStore, type QuorumOptions } from '../stores/quorum/index.ts'
import { Bench } from './bench.ts'
import { NodeStore, type NodeOptions } from './node-store.ts'
import { seededRandomness } from './seeded-randomness.ts'
import { TroubledStore, type StoreCall, type Trouble } from './troubled-store.ts'

/** One process of a {@link QuorumBench}: its instance, and its own ways to the nodes, which can be troubled. */
export interface QuorumProcess {
  readonly hf: Holdfast
  readonly ways: readonly TroubledStore[]
}

export interface QuorumBenchOptions {
  /** Nodes, or how each of them differs. Default 3. */
  readonly nodes?: number | readonly NodeOptions[]
  readonly processes?: number
  readonly quorum?: QuorumOptions
  readonly holdfast?: HoldfastOptions
  readonly seed?: number
}

/** Processes over a quorum of nodes in memory, under one virtual clock; trouble for each process and node. */
export class QuorumBench extends Bench {
  readonly nodes: readonly NodeStore[]
  readonly processes: readonly QuorumProcess[]

  constructor(options: QuorumBenchOptions = {}) {
    super()
    const { nodes = 3, processes = 2, quorum = {}, holdfast = {}, seed = 1 } = options
    const kinds = typeof nodes === 'number' ? Array.from({ length: nodes }, () => ({})) : nodes
    this.nodes = kinds.map((kind) => new NodeStore(this.clock, kind))
    this.processes = Array.from({ length: processes }, (_, i) => {
      const ways = this.nodes.map((node) => new TroubledStore(node))
      const store = quorumStore(ways, quorum)
      const randomness = seededRandomness(seed * 100 + i)
      const hf = createHoldfast({ clock: this.clock, randomness, ...holdfast, store })
      return { hf, ways }
    })
  }

  process(index = 0): QuorumProcess {
    return this.processes[index] as QuorumProcess
  }

  /** Puts trouble between a process and some of its nodes. */
  trouble(nodes: readonly number[], call: StoreCall, trouble: Trouble, process = 0): void {
    for (const node of nodes) this.process(process).ways[node]?.trouble(call, trouble)
  }

  heal(process = 0): void {
    for (const way of this.process(process).ways) way.heal()
  }

  /** Who holds the lock on each node. */
  async owners(name: string): Promise<(string | null)[]> {
    const address = lockAddress('holdfast:v1', name)
    const records = await Promise.all(this.nodes.map((node) => node.record(address)))
    return records.map((record) => record?.owner ?? null)
  }

  /** The value of a promise that settles within so much time; what it rejected with is thrown. */
  async within<T>(promise: Promise<T>, ms: number): Promise<T> {
    const outcome = await this.outcomeOf(promise, ms)
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }
}
