import type { Actor } from '../actor.ts'
import type { Dice } from '../dice.ts'
import type { Role } from '../network/link.ts'
import { Path, type Direction, type Network } from '../network/path.ts'
import type { Delay, Fate } from '../network/way.ts'
import type { ModelCluster } from './cluster.ts'

/** The network between a process and all nodes of a cluster: a path to each. What is done to it is done to some of them, or to all. */
export class ClusterPaths implements Network {
  readonly #client: Actor
  readonly #cluster: ModelCluster
  readonly #dice: Dice
  readonly #delay: Delay
  readonly #paths = new Map<string, Path>()

  constructor(parts: { client: Actor; cluster: ModelCluster; dice: Dice; delay: Delay }) {
    this.#client = parts.client
    this.#cluster = parts.cluster
    this.#dice = parts.dice
    this.#delay = parts.delay
  }

  /** The nodes that a client is told to begin with. */
  get addresses(): readonly string[] {
    return this.#cluster.addresses
  }

  to(address: string): Path {
    let path = this.#paths.get(address)
    if (path === undefined) {
      const server = this.#cluster.at(address)
      path = new Path({ client: this.#client, server, dice: this.#dice, delay: this.#delay })
      this.#paths.set(address, path)
    }
    return path
  }

  reset(roles: readonly Role[], fate: Fate, away?: number): void {
    for (const path of this.#some()) path.reset(roles, fate, away)
  }

  hold(direction: Direction, ms: number): void {
    for (const path of this.#some()) path.hold(direction, ms)
  }

  slow(delay: Delay, ms: number): void {
    for (const path of this.#some()) path.slow(delay, ms)
  }

  heal(): void {
    for (const path of this.#paths.values()) path.heal()
  }

  hangUp(): void {
    for (const path of this.#paths.values()) path.hangUp()
  }

  #some(): readonly Path[] {
    const all = [...this.#paths.values()]
    return all.length > 0 && this.#dice.chance(0.5) ? [this.#dice.pick(all)] : all
  }
}
