import type { Bench } from '../bench.ts'
import type { ContenderName } from '../contenders/index.ts'
import type { Measurements } from '../measurements.ts'

/** One line of the report. */
export interface RowSpec {
  readonly id: string
  /** What of the load's measurements it shows. */
  readonly metric: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
}

/** One way to use a lock, and what is measured in it. */
export interface Load {
  readonly id: string
  readonly ours: ContenderName
  /** What ours is compared with; `null` where there is nothing by hand to compare with. */
  readonly floor: ContenderName | null
  readonly rows: readonly RowSpec[]
  run(bench: Bench): Promise<Measurements>
}
