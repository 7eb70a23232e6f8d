import { LIMIT } from './gate.ts'
import { EDGE_LANES } from './edge.ts'
import type { LimitResults } from './scene.ts'
import { countOf, mostInAnyMinute } from './traffic.ts'
import type { LimitVariant } from './variants/index.ts'

/** The limits' part of what `--json` prints. */
export interface LimitSummary {
  readonly variants: readonly VariantSummary[]
  /** Two bursts at the edge of a window. */
  readonly doubleBurst: readonly {
    readonly name: (typeof EDGE_LANES)[number]
    readonly admitted: number
    readonly mostInAnyMinute: number
  }[]
}

interface VariantSummary {
  readonly name: LimitVariant
  /** Of the requests in the first minute. */
  readonly admitted: number
  readonly mostInAnyMinute: number
  /** Of those that came when nothing counted any more. */
  readonly admittedLater: number
  /** The store did not decide in time. */
  readonly unanswered: number
}

export function limitSummary({ variants, edge }: LimitResults): LimitSummary {
  return {
    variants: variants.map(({ name, requests, later }) => ({
      name,
      admitted: countOf(requests, 'admitted'),
      mostInAnyMinute: mostInAnyMinute(requests),
      admittedLater: countOf(later, 'admitted'),
      unanswered: countOf([...requests, ...later], 'unanswered'),
    })),
    doubleBurst: EDGE_LANES.map((name) => {
      const requests = edge.requests.filter(({ lane }) => lane === name)
      return { name, admitted: countOf(requests, 'admitted'), mostInAnyMinute: mostInAnyMinute(requests) }
    }),
  }
}

/** Whether Holdfast let pass what it should, and nothing beyond: in the first minute, later, and at the edge of a window. */
export function limitHeld({ variants, doubleBurst }: LimitSummary): boolean {
  const ours = variants.find(({ name }) => name === 'holdfast')
  const exact = doubleBurst.find(({ name }) => name === 'slidingWindow')
  if (ours === undefined || exact === undefined) return false
  const { admitted, unanswered, admittedLater } = ours
  const fewEnough = ours.mostInAnyMinute <= LIMIT && exact.mostInAnyMinute <= LIMIT
  return fewEnough && admitted + unanswered >= LIMIT && admittedLater + unanswered > 0
}
