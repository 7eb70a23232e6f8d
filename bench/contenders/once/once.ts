/** What runs work once for each key, as one process uses it. */
export interface Once {
  /** Runs an empty work under a key that is new. */
  first(key: string): Promise<unknown>
  /** Calls with a key that is done. */
  replay(key: string): Promise<unknown>
  /** Whether what either gave is the outcome of the work. */
  isOutcome(answer: unknown): boolean
  close(): Promise<void>
}

/** One that can be started in a client process of its own, by its name. */
export interface OnceKind {
  readonly role: 'ours' | 'floor' | 'peer'
  /** How it was set up, in a few words. */
  readonly settings: string
  open(url: string): Promise<Once>
}

/** What the work gives. */
export const OUTCOME = 'done'
