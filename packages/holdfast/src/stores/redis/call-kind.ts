import type { Attempt } from '../../store/attempt.ts'
import type { Acknowledgement } from './acknowledge.ts'

/** How much later than the others' an item's last moment may be without being sent along, in milliseconds. */
const NEAR_ENOUGH = 5

export interface Script {
  readonly name: string
  readonly source: string
  readonly sha1: string
}

/** What a kind of operation has in common: its script, and what stands before the items. */
export interface CallKind {
  readonly script: Script
  /** Keys and arguments that all items of a call share. Items of another kind go in another call, so kinds are kept. */
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** Keys that stand behind those of the items. */
  readonly keysAfter?: readonly string[]
  /** Calls are sent in this order within a turn, so that an acquire never overtakes the release of its name. */
  readonly order: number
  /**
   * Whether the server must refuse what comes too late, and who tells it until when: the call, after `args` (the earliest last
   * moment of its items; an item whose own is later says by how much), or each item, by its `attempt.notAfter`.
   */
  readonly expires?: 'by-call' | 'by-item'
  /** Writes the arguments of all items, instead of each its own: a client takes its time over every argument. */
  readonly write?: (args: string[], items: readonly CallItem[], earliest: number) => void
  /**
   * Keys and arguments of one call instead of `keys` and `args`, each time it is written: for scripts that keep the call's
   * reply. The items may note which call they travel in.
   */
  readonly forCall?: (
    id: string,
    items: readonly CallItem[],
  ) => { readonly keys: readonly string[]; readonly args: readonly string[] }
  /** Calls go over connections of their own, and what they prolonged or granted is told when enough replicas have it. */
  readonly acknowledgement?: Acknowledgement | undefined
  /** Reads a reply that speaks of all items at once, and gives the result of item `index` of it; without it there is none. */
  readonly whole?: (reply: readonly unknown[]) => (index: number) => unknown
  /** Whether its items are one step: they wait for the end of the turn, and are sent in one call whatever their number. */
  readonly together?: boolean
  /** The same for an item's first key alone, which is served also while its slot moves from node to node of a cluster. */
  readonly alone?: CallKind
  /** Whether only the first key of each item is sent. */
  readonly firstKeyOnly?: boolean
}

/** One item of a call. */
export interface CallItem {
  readonly keys: readonly string[]
  readonly attempt: Attempt
  /**
   * Adds its own arguments to the call's.
   *
   * @param later by how many ms its last moment is later than the call's; 0 when it is near enough
   */
  write(args: string[], later: number): void
  /** What its own part of a reply means. */
  read(words: readonly string[]): unknown
  /** @param result what `read` or {@link CallKind.whole} made of the reply; `clock` stands for the server where there are several */
  settle(result: unknown, serverTime: number, maybeTwice: boolean, clock?: object): void
  fail(error: unknown): void
}

/** By how many ms an item's last moment is later than what its call says; 0 when it is near enough. */
export function laterBy({ attempt }: CallItem, earliest: number): number {
  const later = (attempt.notAfter ?? 0) - earliest
  return later > NEAR_ENOUGH ? later : 0
}
