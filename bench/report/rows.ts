import { roleOf, type AnyName } from '../contenders/index.ts'
import type { Load, RowSpec } from '../loads/load.ts'
import type { Measurements } from '../measurements.ts'
import { median } from '../statistics.ts'
import { targets, type Target } from '../targets.ts'

/** One line of the result. Figures are medians over the rounds. */
export interface Row {
  readonly id: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly ours: number | null
  readonly floor: number | null
  readonly bestPeer: number | null
  readonly bestPeerName: string | null
  /**
   * Ours divided by the floor, or by the best peer where the target asks for that or there is no floor; round by round.
   * `null` where the target is for our own figure.
   */
  readonly ratio: { readonly min: number; readonly median: number; readonly max: number } | null
  /** For the median of the ratio, or for our own figure where there is no ratio; `null` for a row without a target. */
  readonly target: number | null
  readonly met: boolean | null
}

/** The rows of one load. */
export function rowsOf(load: Load, measurements: Measurements): Row[] {
  return load.rows.map((spec) => rowOf(load, spec, measurements))
}

function rowOf(load: Load, spec: RowSpec, measurements: Measurements): Row {
  const { metric, better, id, unit } = spec
  const target: Target | undefined = targets[id]
  const ours = measurements.values(load.ours, metric)
  const floor = load.floor === null ? [] : measurements.values(load.floor, metric)
  const best = bestPeer(spec, measurements)
  const reference = floor.length > 0 && target?.of !== 'ratio to best peer' ? floor : (best?.values ?? [])
  const ratio = target?.of === 'value' ? null : ratioOf(ours, reference)
  const reached = target?.of === 'value' ? medianOrNull(ours) : (ratio?.median ?? null)
  return {
    id,
    unit,
    better,
    ours: medianOrNull(ours),
    floor: medianOrNull(floor),
    bestPeer: best === null ? null : medianOrNull(best.values),
    bestPeerName: best?.name ?? null,
    ratio,
    target: target?.bound ?? null,
    met: target === undefined ? null : !measurements.broken.has(load.ours) && meets(reached, target, better),
  }
}

function bestPeer(
  { metric, better }: RowSpec,
  measurements: Measurements,
): { name: AnyName; values: readonly number[] } | null {
  const candidates = measurements.contenders
    .filter((name) => roleOf(name) === 'peer' && !measurements.broken.has(name))
    .map((name) => ({ name, values: measurements.values(name, metric) }))
    .filter(({ values }) => values.length > 0)
    .sort((a, b) => middle(a.values) - middle(b.values))
  return (better === 'higher' ? candidates.at(-1) : candidates[0]) ?? null
}

function ratioOf(ours: readonly number[], reference: readonly number[]): Row['ratio'] {
  const ratios = ours.map((value, round) => value / (reference[round] ?? NaN)).filter(Number.isFinite)
  if (ratios.length === 0) return null
  return {
    min: rounded(Math.min(...ratios)),
    median: rounded(median(ratios)),
    max: rounded(Math.max(...ratios)),
  }
}

function meets(reached: number | null, target: Target, better: 'higher' | 'lower'): boolean {
  if (reached === null) return false
  return better === 'higher' ? reached >= target.bound : reached <= target.bound
}

function medianOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : rounded(middle(values))
}

/** The median of what there is. */
function middle(values: readonly number[]): number {
  return median(values.filter((value) => !Number.isNaN(value)))
}

/** Four digits: more would be noise. */
function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
