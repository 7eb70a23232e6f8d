import type { HistoryRecord } from '../history-record.ts'
import { judgeBeliefs } from './belief.ts'
import { judgeFences } from './fence-order.ts'
import { judgeGuardedWrites } from './guarded-writes.ts'
import { historyOf, type History } from './history.ts'
import { judgeLeaks } from './leaks.ts'
import { judgeLeftovers } from './leftovers.ts'
import { judgeLosses } from './loss.ts'
import { judgeMutualExclusion } from './mutual-exclusion.ts'
import { judgeSettling } from './settling.ts'
import {
  rulesOf,
  type CheckOptions,
  type Counted,
  type InvariantId,
  type Overlap,
  type Verdict,
  type Violation,
} from './verdict.ts'

const MAX_OVERLAPS_SHOWN = 100

/**
 * Judges a history by the invariants (see {@link InvariantId}). What is not in the history cannot be judged: a passing
 * verdict is worth as much as `counted` says was there. An outcome that is unknown is taken either way; an acquire without
 * a known grant never makes a history right or wrong, since all it could do is stand in others' way.
 *
 * The records may come in any order. Nothing is read or written, and the same records give the same verdict.
 *
 * @throws InvalidArgumentError when the records are no history: a return without its call, an id used twice
 */
export function checkHistory(records: readonly HistoryRecord[], options: CheckOptions = {}): Verdict {
  const rules = rulesOf(options)
  const history = historyOf(records)
  const exclusion = judgeMutualExclusion(history, rules)
  const beliefs = judgeBeliefs(history, rules)
  const wanted = ({ invariant }: Violation): boolean => options.only?.includes(invariant) ?? true
  const violations = [
    ...exclusion.violations,
    ...beliefs.violations,
    ...judgeFences(history),
    ...judgeGuardedWrites(history),
    ...judgeLosses(history, rules),
    ...judgeSettling(history, rules),
    ...judgeLeftovers(history, rules),
    ...judgeLeaks(history),
  ].filter(wanted)
  const undecided = options.only?.includes('INV-M1') === false ? [] : exclusion.undecided
  return {
    ok: violations.length === 0 && undecided.length === 0,
    violations: firstOfEach(violations, rules.limit),
    overlaps: beliefs.overlaps.slice(0, MAX_OVERLAPS_SHOWN),
    undecided,
    counted: count(history, beliefs.overlaps, violations),
  }
}

function firstOfEach(violations: readonly Violation[], limit: number): Violation[] {
  const shown = new Map<InvariantId, number>()
  return violations.filter(({ invariant }) => {
    const before = shown.get(invariant) ?? 0
    shown.set(invariant, before + 1)
    return before < limit
  })
}

function count(history: History, overlaps: readonly Overlap[], violations: readonly Violation[]): Counted {
  const { acquires, writes } = history
  const outcomes = { granted: 0, busy: 0, timeout: 0, error: 0, unknown: 0, unsettled: 0 }
  for (const { returned } of acquires) outcomes[returned?.outcome ?? 'unsettled'] += 1
  const accepted = writes.filter((write) => write.accepted).length
  const losses = acquires.map(({ loss }) => loss?.reason).filter((reason) => reason !== undefined)
  return {
    records: history.records.length,
    processes: history.lives.size,
    names: new Set(acquires.map(({ name }) => name)).size,
    acquires: outcomes,
    releases: sum(acquires.map(({ releases }) => releases.length)),
    losses: tally(losses),
    assertions: sum(acquires.map(({ assertions }) => assertions.length)),
    writes: { accepted, refused: writes.length - accepted },
    keysSeen: history.keys.length,
    overlaps: {
      count: overlaps.length,
      milliseconds: sum(overlaps.map(({ from, until }) => until - from)),
      byCause: tally(overlaps.flatMap(({ causes }) => (causes.length === 0 ? ['none'] : causes))),
    },
    violations: tally(violations.map(({ invariant }) => invariant)),
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function tally<K extends string>(words: readonly K[]): Partial<Record<K, number>> & Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts as Partial<Record<K, number>> & Record<string, number>
}
