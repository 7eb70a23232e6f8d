/** A lock under test as one process uses it. What it may not do is cost more here than in its users' hands: no closures. */
export interface Contender {
  /** Takes the name, however long that takes. Rejects when it gives up. */
  acquire(name: string): Promise<unknown>
  /** Gives back what `acquire` gave. Rejects when that was not held any more. */
  release(held: unknown): Promise<unknown>
  /** What must stand on the server before the first `acquire` of a name; called by one process. */
  prepare?(name: string): Promise<void>
  /** How many of these are not held any more, without having been given back. */
  countLost?(held: readonly unknown[]): number
  close(): Promise<void>
}

export interface OpenOptions {
  readonly url: string
  /** How long a lock outlives its holder, in milliseconds. */
  readonly ttl: number
  /** How many calls of this process may wait at once. Only who needs a connection for each looks at it. */
  readonly waiters: number
}

/** A contender that can be started in any client process, by its name. */
export interface ContenderKind {
  readonly role: 'ours' | 'floor' | 'peer'
  /** How it was set up, in a few words, where that is a choice. */
  readonly settings: string
  open(options: OpenOptions): Promise<Contender>
}

/** In all loads but renewal. Long enough that nothing expires. */
export const TTL_MS = 30_000
