import { InvalidArgumentError } from '../errors.ts'
import { encodePart } from '../name.ts'
import { checkBoolean, checkOptions } from '../options.ts'
import { readFence, type Fence } from './fence-source.ts'

/** What {@link postgresFence}, {@link mysqlFence} and {@link sqliteFence} take. */
export interface FenceGuardOptions {
  /** The registry, as `'holdfast_fence'` or `'app.holdfast_fence'`. Default `holdfast_fence`. */
  table?: string
}

/** How one write is checked. */
export interface FenceCheckOptions {
  /** Take each fence once: one that was accepted before is refused as well. Default false: a holder may write several times. */
  once?: boolean
  /**
   * The lock's name, where the fence is a bare bigint. A held lock brings its own. The registry remembers the first name of a
   * resource and refuses another: fences of two locks have no order.
   */
  lock?: string
}

/** A check, as the databases see it. */
export interface CheckedWrite {
  /** The resource as the caller named it, for messages. */
  readonly resource: string
  /** The same in at most 512 bytes without controls, as it stands in the registry. */
  readonly key: string
  readonly fence: bigint
  /** Encoded as the key is; `null` when not known. */
  readonly lock: string | null
  readonly once: boolean
}

/** Postgres cuts longer names off without a word. */
const MAX_IDENTIFIER = 63
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_$]*$/

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkWrite(
  resource: unknown,
  source: unknown,
  options: FenceCheckOptions | undefined,
  where: string,
): CheckedWrite {
  const key = encodePart(resource, 'resource')
  const fence = readFence(source)
  // Raising is no write: there is nothing that could be had once.
  checkOptions(options, where === 'raise' ? ['lock'] : ['once', 'lock'], where)
  const { once = false, lock } = options ?? {}
  return {
    resource: resource as string,
    key,
    fence: fence.value,
    lock: lockOf(fence, lock),
    once: checkBoolean(once, 'once'),
  }
}

function lockOf(fence: Fence, option: string | undefined): string | null {
  if (option === undefined) return fence.lock === null ? null : encodePart(fence.lock, 'fence.name')
  const lock = encodePart(option, 'lock')
  if (fence.lock === null || fence.lock === option) return lock
  throw new InvalidArgumentError('lock', option, {
    problem: `is not the name of the held lock, which is ${JSON.stringify(fence.lock)}`,
    remedy: 'Leave `lock` out: a held lock brings its own name.',
  })
}

/**
 * The name of a table, as its parts: `['app', 'holdfast_fence']`.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
function checkTable(table: unknown): readonly string[] {
  const parts = typeof table === 'string' ? table.split('.') : []
  const usable = parts.every((part) => IDENTIFIER.test(part) && part.length <= MAX_IDENTIFIER)
  if (usable && (parts.length === 1 || parts.length === 2)) return parts
  throw new InvalidArgumentError('table', table, {
    problem: 'cannot be the name of a table',
    remedy:
      "Give letters, digits, '_' and '$', at most 63, with a schema if need be, as 'app.holdfast_fence'.",
  })
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkGuardOptions(options: FenceGuardOptions | undefined, where: string): readonly string[] {
  checkOptions(options, ['table'], where)
  const { table = 'holdfast_fence' } = options ?? {}
  return checkTable(table)
}

/** A column that is the caller's own, spelt as in the caller's own statements. */
export function checkColumn(column: unknown): string {
  if (typeof column === 'string' && /^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)?$/.test(column)) return column
  throw new InvalidArgumentError('column', column, {
    problem: 'cannot be the name of a column',
    remedy: "Give it as it stands in your statements, as 'fence' or 'stock.fence'.",
  })
}
