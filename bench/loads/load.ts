import type { Bench } from '../bench.ts'
import type { AnyName } from '../contenders/index.ts'
import type { Measurements } from '../measurements.ts'

/** One line of the report. */
export interface RowSpec {
  readonly id: string
  /** What of the load's measurements it shows. */
  readonly metric: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
}

/** One way to use a lock or a limiter, and what is measured in it. */
export interface Load {
  readonly id: string
  readonly ours: AnyName
  /** What ours is compared with; `null` where there is nothing by hand to compare with. */
  readonly floor: AnyName | null
  readonly rows: readonly RowSpec[]
  run(bench: Bench): Promise<Measurements>
}
