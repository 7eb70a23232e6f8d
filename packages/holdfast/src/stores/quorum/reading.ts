import type { ForceResult, LockRecord } from '../../store/contract.ts'
import type { Votes } from './ballot.ts'
import { highest, holderOf } from './majority.ts'

export type InspectVerdict =
  { readonly kind: 'read'; readonly record: LockRecord | null } | { readonly kind: 'impossible' }

/** Who stands at a majority of the nodes; nobody when nobody can; impossible when that depends on nodes that do not answer. */
export function judgeInspect(votes: Votes<LockRecord | null>, majority: number): InspectVerdict | null {
  const records = votes.flatMap((vote) =>
    vote?.kind === 'answered' && vote.answer.result !== null ? [vote.answer.result] : [],
  )
  const holder = holderOf(records, majority)
  if (holder !== null)
    return {
      kind: 'read',
      record: { ...holder, waiters: Math.max(...records.map(({ waiters }) => waiters)) },
    }
  const most = Math.max(
    0,
    ...records.map(({ owner }) => records.filter((each) => each.owner === owner).length),
  )
  const unread = votes.filter((vote) => vote?.kind !== 'answered').length
  if (most + unread < majority) return { kind: 'read', record: null }
  return votes.includes(null) ? null : { kind: 'impossible' }
}

export type ForceVerdict = ForceResult | { readonly kind: 'impossible' }

/** Waits for every node, for as long as there is time: an operator would rather know than hurry. */
export function judgeForce(votes: Votes<ForceResult>, majority: number): ForceVerdict | null {
  if (votes.includes(null)) return null
  const results = votes.flatMap((vote) => (vote?.kind === 'answered' ? [vote.answer.result] : []))
  if (results.length < majority) return { kind: 'impossible' }
  const fence = highest(results.map((result) => (result.kind === 'forced' ? result.fence : null)))
  if (fence !== null) return { kind: 'forced', fence }
  return results.find(({ kind }) => kind === 'other') ?? { kind: 'missing' }
}

/** Whether a majority has answered, whatever it said. */
export function judgeAnswered(
  votes: Votes<unknown>,
  majority: number,
): { readonly kind: 'done' | 'impossible' } | null {
  if (votes.filter((vote) => vote?.kind === 'answered').length >= majority) return { kind: 'done' }
  return votes.includes(null) ? null : { kind: 'impossible' }
}
