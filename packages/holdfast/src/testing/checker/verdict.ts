import { InvalidArgumentError } from '../../errors.ts'
import { checkOptions } from '../../options.ts'
import type { AcquireOutcome, HistoryRecord } from '../history-record.ts'

const INVARIANTS = [
  'INV-M1',
  'INV-M2',
  'INV-F1',
  'INV-F2',
  'INV-T1',
  'INV-T2',
  'INV-H1',
  'INV-H2',
  'INV-C1',
] as const

/**
 * What the checker judges.
 *
 * - `INV-M1`: the grants of a name, as the store ordered them, fit a fenced mutex: each is made when the lock is free, with
 *   a fence greater than any before.
 * - `INV-M2`: no two holders believe at once, from the return of the grant until told of the loss or asking for release.
 * - `INV-F1`: fences rise in the order of grants, over leases and within one.
 * - `INV-F2`: a guarded resource accepts no write with a lower fence than an earlier accepted one.
 * - `INV-T1`: the holder is told of the loss by its deadline (sent + ttl − drift) and a little more, or in its first turn
 *   after a stop. `INV-T2`: from then on `assertHeld` throws.
 * - `INV-H1`: every promise settles within its wait, its budget and a little more. `INV-H2`: what was not granted, or was
 *   given back, leaves no key beyond a bound; a release does not claim what was not ours.
 * - `INV-C1`: no unhandled rejection, no leaked timer, listener or socket, no key without expiry.
 */
export type InvariantId = (typeof INVARIANTS)[number]

/** One way in which a history breaks an invariant. */
export interface Violation {
  readonly invariant: InvariantId
  /** The lock or the resource; `null` where none is concerned. */
  readonly name: string | null
  /** What happened, with the values. */
  readonly sentence: string
  /** The fewest records that show it, in the order of time. */
  readonly witness: readonly HistoryRecord[]
}

/** Two who believed to hold one lock at once. */
export interface Overlap {
  readonly name: string
  /** The ids of the acquires, the earlier first, and their owners. */
  readonly holds: readonly [string, string]
  readonly owners: readonly [string, string]
  readonly from: number
  readonly until: number
  /** The recorded faults and stops that explain it; `told-late` for the moments between a deadline and its telling. */
  readonly causes: readonly string[]
}

/** How much there was to judge. A check that judged nothing proves nothing: look here. */
export interface Counted {
  readonly records: number
  readonly processes: number
  readonly names: number
  /** Acquires by outcome, and those that never settled. */
  readonly acquires: Readonly<Record<AcquireOutcome | 'unsettled', number>>
  readonly releases: number
  /** Losses by reason. */
  readonly losses: Readonly<Record<string, number>>
  readonly assertions: number
  readonly writes: { readonly accepted: number; readonly refused: number }
  readonly keysSeen: number
  readonly overlaps: {
    readonly count: number
    readonly milliseconds: number
    /** Overlaps by cause; `none` for those that nothing explains. One with two causes counts under both. */
    readonly byCause: Readonly<Record<string, number>>
  }
  /** Violations by invariant, also those beyond the limit. INV-M1 stops looking at a name's limit. */
  readonly violations: Readonly<Partial<Record<InvariantId, number>>>
}

/** What the checker found. */
export interface Verdict {
  /** No violation, and nothing undecided. */
  readonly ok: boolean
  readonly violations: readonly Violation[]
  /** Overlapping beliefs, whether or not they count as violations; the first hundred. */
  readonly overlaps: readonly Overlap[]
  /** Names whose grants could be ordered in too many ways to decide INV-M1 within the bound of the search. */
  readonly undecided: readonly string[]
  readonly counted: Counted
}

/** What may be set. */
export interface CheckOptions {
  /** Judge only these; all when left out. */
  readonly only?: readonly InvariantId[]
  /**
   * What INV-M2 makes of overlapping beliefs. `assert`: each is a violation. `explain` (when left out): only those that no
   * recorded fault or stop explains. `count`: none is.
   */
  readonly overlaps?: 'assert' | 'explain' | 'count'
  /** Milliseconds within which a loss is told after the deadline, or after a stop; 50 when left out. */
  readonly lossSlack?: number
  /** Milliseconds within which a promise settles beyond its wait and budget; 100 when left out. */
  readonly settleSlack?: number
  /** Milliseconds within which the key of a rejected or released acquire is gone; its budget and the settle slack when left out. */
  readonly compensationBound?: number
  /** How many violations of one invariant are shown; 10 when left out. */
  readonly limit?: number
  /** How many steps the search for an order of grants may take for one name; a million when left out. */
  readonly searchLimit?: number
}

/** The options with everything filled in. */
export interface Rules {
  readonly overlaps: 'assert' | 'explain' | 'count'
  readonly lossSlack: number
  readonly settleSlack: number
  readonly compensationBound: number | null
  readonly limit: number
  readonly searchLimit: number
}

const OPTIONS = ['only', 'overlaps', 'lossSlack', 'settleSlack', 'compensationBound', 'limit', 'searchLimit']
const OVERLAPS = ['assert', 'explain', 'count']

/**
 * Fills in what was left out. What is misspelt would judge nothing, and call it well.
 *
 * @throws InvalidArgumentError
 */
export function rulesOf(options: CheckOptions): Rules {
  checkOptions(options, OPTIONS, 'checkHistory')
  const { only, overlaps, ...numbers } = options
  if (only !== undefined) checkWords('only', only, INVARIANTS)
  if (overlaps !== undefined) checkWords('overlaps', [overlaps], OVERLAPS)
  for (const [name, value] of Object.entries(numbers)) {
    if (value === undefined || (typeof value === 'number' && value >= 0)) continue
    throw new InvalidArgumentError(name, value, {
      problem: 'is no number from 0',
      remedy: 'Give one, or leave it out.',
    })
  }
  return {
    overlaps: options.overlaps ?? 'explain',
    lossSlack: options.lossSlack ?? 50,
    settleSlack: options.settleSlack ?? 100,
    compensationBound: options.compensationBound ?? null,
    limit: options.limit ?? 10,
    searchLimit: options.searchLimit ?? 1_000_000,
  }
}

function checkWords(option: string, given: unknown, known: readonly string[]): void {
  if (Array.isArray(given) && given.length > 0 && given.every((word) => known.includes(word as string)))
    return
  throw new InvalidArgumentError(option, given, {
    problem: 'names nothing that the checker knows',
    remedy: `There are: ${known.join(', ')}.`,
  })
}

/** Puts a witness in order: each record once, by time, calls of one moment as they were written. */
export function witnessOf(records: readonly (HistoryRecord | null)[]): HistoryRecord[] {
  const present = new Set(records.filter((record) => record !== null))
  return [...present].sort((one, other) => one.time - other.time)
}
