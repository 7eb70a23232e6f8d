/** A limit to decide by. Times in milliseconds. */
export type LimitSpec =
  | { readonly kind: 'bucket'; readonly capacity: number; readonly refill: number; readonly per: number }
  /** So many in any span of `per`. */
  | { readonly kind: 'window'; readonly limit: number; readonly per: number }

/**
 * A limiter under test as one process uses it. What it may not do is cost more here than in its users' hands: no closures,
 * and no promises but its own.
 */
export interface Limiter {
  /** Asks whether so much more of a subject passes. Rejects when that could not be found out. */
  take(subject: string, cost: number): Promise<unknown>
  /** Whether what `take` gave let it pass. */
  allows(answer: unknown): boolean
  close(): Promise<void>
}

export interface OpenLimiterOptions {
  readonly url: string
  /** All of them hold at once. Who has no bucket, or no exact window, takes what it has that is nearest. */
  readonly limits: readonly [LimitSpec, ...LimitSpec[]]
  /** How many are taken at once to be given out without asking; `null`: none. Only ours can. */
  readonly lease: number | null
  /** Whether denials may be answered from memory, by those who do so by themselves. */
  readonly remembers: boolean
  /** Whether a slow answer of the store may be waited for, since it is not speed that is measured. */
  readonly patient: boolean
}

/** A limiter that can be started in a client process of its own, by its name. */
export interface LimiterKind {
  readonly role: 'ours' | 'floor' | 'peer'
  /** How it was set up, in a few words, where that is a choice. */
  readonly settings: string
  open(options: OpenLimiterOptions): Promise<Limiter>
}

/** How many pass at once at most. */
export function capacityOf(limit: LimitSpec): number {
  return limit.kind === 'bucket' ? limit.capacity : limit.limit
}
