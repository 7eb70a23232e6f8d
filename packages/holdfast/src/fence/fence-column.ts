import { InvalidArgumentError } from '../errors.ts'
import { show } from '../show.ts'
import { checkBoolean, checkOptions } from '../options.ts'
import { readFence, type Fence } from './fence-source.ts'
import { checkColumn } from './guard-options.ts'
import { stale, type GuardKind } from './refusals.ts'

/** How a fence column is written and compared. */
export interface FenceColumnOptions {
  /** The column. Default `fence`. It must be `NOT NULL`, as `fence BIGINT NOT NULL DEFAULT 0`. */
  column?: string
  /** Take each fence once: `<` instead of `<=`. Default false: a holder may write several times. */
  once?: boolean
  /** What stands for the fence in the statement, as `'$2'`, `'?'` or `':fence'`. Default: its digits. */
  placeholder?: string
}

/** The row that an UPDATE was for. */
export interface GuardedRow {
  readonly table: string
  /** Which row, as `'id = $1'`: the condition without the fence and without the business's own. */
  readonly where: string
  /** The values of its placeholders. */
  readonly values?: readonly unknown[]
}

/**
 * What became of an UPDATE. `written`: it changed the row. `missing`: there is no such row. `condition`: the row is there and
 * takes this fence, but the caller's own condition did not hold.
 */
export type GuardedOutcome = 'written' | 'missing' | 'condition'

/** The parts of a caller's own UPDATE that guard it by a column of its own, and what is needed to tell zero rows apart. */
export class FenceColumn<Value> {
  /** For SET, as `fence = 1764000000000000`. */
  readonly set: string
  /** For WHERE, as `fence <= 1764000000000000`. */
  readonly where: string
  /** The fence, for the placeholder. */
  readonly value: Value
  /** The column, as it stands in the caller's statements. */
  readonly column: string
  readonly #guard: GuardKind
  readonly #fence: Fence
  readonly #once: boolean

  /** @throws InvalidArgumentError that names option, value and remedy */
  constructor(
    guard: GuardKind,
    source: unknown,
    options: FenceColumnOptions | undefined,
    valueOf: (fence: bigint) => Value,
  ) {
    const fence = readFence(source)
    checkOptions(options, ['column', 'once', 'placeholder'], 'column')
    const { column = 'fence', once = false, placeholder = String(fence.value) } = options ?? {}
    this.#guard = guard
    this.#fence = fence
    this.#once = checkBoolean(once, 'once')
    this.column = checkColumn(column)
    checkPlaceholder(placeholder)
    this.set = `${column.slice(column.indexOf('.') + 1)} = ${placeholder}`
    this.where = `${column} ${once ? '<' : '<='} ${placeholder}`
    this.value = valueOf(fence.value)
  }

  /** The statement that reads the row's fence, as text, whatever the driver does with large numbers. */
  reading({ table, where }: GuardedRow, textType: string, suffix = ''): string {
    const column = this.column.slice(this.column.indexOf('.') + 1)
    return `SELECT CAST(${column} AS ${textType}) AS fence FROM ${table} WHERE ${where}${suffix}`
  }

  /**
   * Tells zero rows apart.
   *
   * @param stored the row's fence in digits; `null` where the column is NULL; `undefined` when there is no such row
   * @throws StaleFenceError, or InvalidArgumentError when the column is NULL
   */
  explain(row: GuardedRow, stored: string | null | undefined): 'missing' | 'condition' {
    if (stored === undefined) return 'missing'
    if (stored === null) {
      throw new InvalidArgumentError('column', this.column, {
        problem: 'is NULL in the row, and NULL compares with nothing',
        remedy: `Give it a start: UPDATE … SET ${this.column} = 0, and NOT NULL DEFAULT 0.`,
      })
    }
    const accepted = BigInt(stored)
    const { value: fence, lock } = this.#fence
    const refused = this.#once ? accepted >= fence : accepted > fence
    if (refused) throw stale(this.#guard, { resource: rowText(row), fence, lock }, accepted)
    return 'condition'
  }
}

function rowText({ table, where, values = [] }: GuardedRow): string {
  const given = values.length === 0 ? '' : ` (${values.map(show).join(', ')})`
  return `${table} WHERE ${where}${given}`
}

/** @throws InvalidArgumentError that names option, value and remedy */
function checkPlaceholder(placeholder: unknown): void {
  if (typeof placeholder === 'string' && /^(\d+|\?\d*|[$:@]\w+)$/.test(placeholder)) return
  throw new InvalidArgumentError('placeholder', placeholder, {
    problem: 'is no placeholder',
    remedy: "Give it as your driver wants it, as '$2', '?' or ':fence'.",
  })
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkRow(row: unknown): asserts row is GuardedRow {
  const { table, where, values = [] } = (row ?? {}) as Partial<Record<keyof GuardedRow, unknown>>
  if (typeof table === 'string' && typeof where === 'string' && Array.isArray(values)) return
  throw new InvalidArgumentError('row', row, {
    problem: 'does not say which row',
    remedy: "Give { table: 'stock', where: 'id = $1', values: [1] }.",
  })
}

/** @throws InvalidArgumentError when a driver's result does not say how many rows it changed */
export function unreadableResult(result: unknown): InvalidArgumentError {
  return new InvalidArgumentError('result', result, {
    problem: 'does not say how many rows were changed',
    remedy: "Give the number of rows, or your driver's own result of the UPDATE.",
  })
}
