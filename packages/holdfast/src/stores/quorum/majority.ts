import type { NodeFailure } from '../../errors.ts'
import type {
  AcquireResult,
  Answer,
  Holder,
  RaiseResult,
  ReleaseResult,
  RenewResult,
} from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { Vote, Votes } from './ballot.ts'

/** How many nodes are more than half. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

type Kind<R> = R extends { readonly kind: infer K } ? K : never

/** The answers of one kind. */
function answersOf<R extends { readonly kind: string }, K extends Kind<R>>(
  votes: Votes<R>,
  kind: K,
): Extract<R, { readonly kind: K }>[] {
  return votes.flatMap((vote) =>
    vote?.kind === 'answered' && vote.answer.result.kind === kind
      ? [vote.answer.result as Extract<R, { readonly kind: K }>]
      : [],
  )
}

const countOf = <R>(votes: Votes<R>, kind: Vote<R>['kind'] | null): number =>
  votes.filter((vote) => (kind === null ? vote === null : vote?.kind === kind)).length

/** Nodes that did not answer, for whatever reason. */
const deafOf = <R>(votes: Votes<R>): number => countOf(votes, 'failed') + countOf(votes, 'silent')

// Acquiring -----------------------------------------------------------------------------------------------------------

export type AcquireVerdict =
  | { readonly kind: 'granted' }
  /** `split`: nobody was seen to have the majority. */
  | { readonly kind: 'busy'; readonly holder: Holder | null; readonly split: boolean }
  /** No node acted on it, and none will. */
  | { readonly kind: 'late' }
  | { readonly kind: 'impossible' }

/**
 * The grant as soon as a majority stands; busy as soon as none is possible because others stand in the way; impossible when too
 * few nodes answer for the one or the other.
 */
export function judgeAcquire(votes: Votes<AcquireResult>, majority: number): AcquireVerdict | null {
  const granted = answersOf(votes, 'granted').length
  const awaited = countOf(votes, null)
  if (granted >= majority) return { kind: 'granted' }
  if (granted + awaited >= majority) return null
  const busy = answersOf(votes, 'busy')
  if (granted + busy.length >= majority) return busyVerdict(busy, majority)
  // Who is still silent may yet tell whether others have it, or too many nodes are down.
  if (granted + busy.length + awaited >= majority) return null
  const late = answersOf(votes, 'late').length
  if (late > 0 && late + awaited === votes.length) return awaited > 0 ? null : { kind: 'late' }
  return { kind: 'impossible' }
}

function busyVerdict(busy: readonly { readonly holder: Holder | null }[], majority: number): AcquireVerdict {
  const holders = busy.flatMap(({ holder }) => (holder === null ? [] : [holder]))
  const holder = holderOf(holders, majority)
  // With nobody in the locks it is others' turn, and they were woken.
  return { kind: 'busy', holder, split: holder === null && holders.length > 0 }
}

/** Who stands at a majority of nodes, with the time at which that will be over. */
export function holderOf(holders: readonly Holder[], majority: number): Holder | null {
  for (const { owner } of holders) {
    const own = holders.filter((each) => each.owner === owner)
    if (own.length < majority) continue
    const remaining = own.map((each) => each.remaining ?? Infinity).toSorted((a, b) => b - a)
    const left = remaining[majority - 1] ?? Infinity
    return {
      owner,
      fence: highest(own.map(({ fence }) => fence)),
      remaining: left === Infinity ? null : left,
    }
  }
  return null
}

export function highest(fences: readonly (bigint | null)[]): bigint | null {
  return fences.reduce(
    (most, fence) => (fence !== null && (most === null || fence > most) ? fence : most),
    null,
  )
}

// Raising the fence -----------------------------------------------------------------------------------------------------

export type RaiseVerdict =
  | { readonly kind: 'confirmed' }
  /** With this fence it may be. */
  | { readonly kind: 'again'; readonly fence: bigint }
  | { readonly kind: 'lost' }
  | { readonly kind: 'impossible' }

/** Whether a majority has agreed that no later grant gets this fence or a lower one. */
export function judgeRaise(votes: Votes<RaiseResult>, majority: number): RaiseVerdict | null {
  const raised = answersOf(votes, 'raised').length
  const awaited = countOf(votes, null)
  if (raised >= majority) return { kind: 'confirmed' }
  if (raised + awaited >= majority) return null
  const higher = answersOf(votes, 'higher')
  if (raised + higher.length >= majority)
    return { kind: 'again', fence: higher.reduce((most, { fence }) => (fence > most ? fence : most), 0n) }
  if (raised + higher.length + awaited >= majority) return null
  return { kind: raised + higher.length + deafOf(votes) < majority ? 'lost' : 'impossible' }
}

// Renewing --------------------------------------------------------------------------------------------------------------

export type RenewVerdict =
  | { readonly kind: 'renewed' | 'missing' | 'late' }
  | { readonly kind: 'other'; readonly holder: Holder }
  | { readonly kind: 'impossible' }

/**
 * Renewed as soon as a majority stands that counts; gone as soon as so many said "not yours" that those who do not answer could
 * not make a majority either; impossible when that is not known.
 *
 * @param counts whether a node counts: those that joined since the last renewal do not yet
 */
export function judgeRenew(
  votes: Votes<RenewResult>,
  counts: (node: number) => boolean,
  majority: number,
): RenewVerdict | null {
  const counted = votes.filter((_vote, node) => counts(node))
  const renewed = answersOf(counted, 'renewed').length
  if (renewed >= majority) return { kind: 'renewed' }
  const late = answersOf(counted, 'late').length
  const unclear = countOf(counted, null) + deafOf(counted) + late
  if (renewed + unclear < majority) {
    const [other] = answersOf(votes, 'other')
    return other ?? { kind: 'missing' }
  }
  if (countOf(counted, null) > 0) return null
  return { kind: late > 0 ? 'late' : 'impossible' }
}

// Releasing -------------------------------------------------------------------------------------------------------------

export type ReleaseVerdict = ReleaseResult | { readonly kind: 'impossible' }

/**
 * Released as soon as a majority gave it back. When fewer had it: released if it may have been ours, and is on a majority no
 * more; else missing or another's. A node that was not asked had nothing of it.
 */
export function judgeRelease(votes: Votes<ReleaseResult>, majority: number): ReleaseVerdict | null {
  const released = answersOf(votes, 'released')
  const done = (): ReleaseVerdict => ({
    kind: 'released',
    wokeOther: released.some(({ wokeOther }) => wokeOther),
  })
  if (released.length >= majority) return done()
  const awaited = countOf(votes, null)
  if (released.length + awaited >= majority) return null
  const deaf = deafOf(votes)
  if (votes.length - awaited - deaf < majority) return awaited > 0 ? null : { kind: 'impossible' }
  if (released.length > 0 && released.length + deaf + awaited >= majority) return done()
  const [other] = answersOf(votes, 'other')
  return other ?? { kind: 'missing' }
}

// Failing ---------------------------------------------------------------------------------------------------------------

/** The nodes that failed, and how. */
function failuresOf(votes: Votes<unknown>): readonly NodeFailure[] {
  return votes.flatMap((vote, node) => {
    if (vote?.kind === 'failed') return [{ node, reason: vote.failure.reason }]
    return vote?.kind === 'silent' ? [{ node, reason: 'silent' }] : []
  })
}

/**
 * What a call is refused with when too many nodes failed.
 *
 * @param exhausted whether the call is not to be repeated within its operation
 * @param outcome whether a majority may have done it all the same
 */
export function impossible(
  votes: Votes<unknown>,
  majority: number,
  { exhausted, outcome }: { exhausted: boolean; outcome: 'not-done' | 'unknown' },
): StoreFailure {
  const nodes = failuresOf(votes)
  const failures = votes.flatMap((vote) => (vote?.kind === 'failed' ? [vote.failure] : []))
  const told = nodes.map(({ node, reason }) => `node ${node} ${reason}`).join(', ')
  const remedy = failures.find((failure) => failure.remedy !== '')?.remedy ?? ''
  return new StoreFailure(
    `the quorum is impossible: ${majority} of ${votes.length} nodes must answer, and ${nodes.length} did not (${told})`,
    {
      kind: 'unreachable',
      outcome,
      final: nodes.length > 0 && failures.length === nodes.length && failures.every((each) => each.final),
      exhausted,
      reason: 'quorum',
      remedy,
      nodes,
      cause: failures[0],
    },
  )
}

/** Whether a majority may have done what was asked: those that did, and those of which it is not known. */
export function mayBeDone<R>(
  votes: Votes<R>,
  did: (answer: Answer<R>) => boolean,
  majority: number,
): boolean {
  const possible = votes.filter((vote) => {
    if (vote?.kind === 'answered') return did(vote.answer)
    if (vote?.kind === 'failed') return vote.failure.outcome === 'unknown'
    return vote?.kind !== 'unasked'
  })
  return possible.length >= majority
}
