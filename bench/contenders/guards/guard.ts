import type { GuardClient } from '../packages.ts'

/** One write to one row, as one process makes it, one after another. */
export interface Guard {
  write(fence: bigint): Promise<void>
}

/** One that can be measured in a client process of its own, by its name. */
export interface GuardKind {
  readonly role: 'ours' | 'floor' | 'peer'
  /** How it was set up, in a few words. */
  readonly settings: string
  /** @param client connected, with the table `stock` and its row 1 */
  open(client: GuardClient): Promise<Guard>
}
