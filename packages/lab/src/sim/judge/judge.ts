import { checkHistory, type Verdict, type Violation } from 'holdfast/testing'
import type { Plan } from '../plan/plan.ts'
import { isExcused, isOfStray } from './excuses.ts'
import { judgeEpochs } from './epochs.ts'
import { judgeLimiter } from './limit-counts.ts'
import { judgeOnce } from './once.ts'
import { judgeReopening } from './reopening.ts'
import { judgeServed } from './served.ts'
import { judgeSlots } from './slots.ts'
import { compensationBound, judgeOwnKeys } from './own-keys.ts'
import { judgeAgainstStore, judgeWrites } from './store-truth.ts'
import { judgeSleeping } from './sleeping.ts'
import { judgeUnheard } from './unheard.ts'
import type { WorldResult } from '../world/world.ts'

/** Something that must not be. */
export interface Broken {
  readonly invariant: string
  readonly name: string | null
  readonly sentence: string
  /** The records that show it, where there are any. */
  readonly witness: Violation['witness']
}

/** What became of a schedule. */
export interface Judgement {
  readonly faults: readonly Broken[]
  readonly verdict: Verdict
  /** Slots and runs that overlapped, by the faults that explain them. */
  readonly overlaps: Readonly<Record<string, number>>
}

/** Judges the history of a world by the checker of `holdfast/testing`, and adds what the world itself saw. */
export function judge(plan: Plan, result: WorldResult): Judgement {
  const { records, traffic } = result
  const slots = judgeSlots(plan, traffic.takes, records)
  const once = judgeOnce(plan, traffic, records)
  const bound = compensationBound(plan)
  const verdict = checkHistory(records, { compensationBound: bound })
  const told = verdict.violations.filter(
    (violation) => !isExcused(violation, records, bound) && !isOfStray(violation, result.strayOwners),
  )
  const seen = result.seen.map(({ invariant, name, sentence }) => ({
    invariant,
    name,
    sentence,
    witness: [],
  }))
  const ours = [
    ...judgeAgainstStore(records),
    ...judgeWrites(records, result.strayOwners),
    ...judgeOwnKeys(plan, records, result.owners, result.broughtBack),
    // Nobody can tell for how long a server stays shut, and the lock is free meanwhile.
    ...(plan.reopenDelay === undefined
      ? judgeSleeping(plan, records, result.broughtBack)
      : judgeReopening(verdict)),
    ...judgeServed(plan, records),
    ...judgeUnheard(plan, records),
    ...judgeEpochs(plan, records, result.epochs),
    ...plan.limiters.flatMap((limiter, index) =>
      judgeLimiter(
        limiter,
        traffic.takes.filter((note) => note.limiter === index),
        plan.budget,
      ),
    ),
    ...slots.broken,
    ...once.broken,
  ]
  return { verdict, faults: [...told, ...ours, ...seen], overlaps: { ...slots.overlaps, ...once.overlaps } }
}
