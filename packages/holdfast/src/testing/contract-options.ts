import { InvalidArgumentError } from '../errors.ts'
import { checkFunction, checkOptions } from '../options.ts'

/** The shortest unit in which leases and windows can be told from the time that calls take, in milliseconds. */
const SHORTEST_UNIT = 10

/**
 * Checks the options of a contract. A door under another name would leave its cases out without a word.
 *
 * @throws InvalidArgumentError
 */
export function checkContract(
  options: { readonly setUp: unknown },
  { contract, others, doors }: { contract: string; others?: readonly string[]; doors: readonly string[] },
): void {
  checkOptions(options, ['setUp', ...(others ?? []), ...doors], contract)
  const given = Object(options) as Record<string, unknown>
  checkFunction(given['setUp'], `${contract}.setUp`, 'async () => ({ clock, randomness, prefix, … })')
  for (const door of doors) {
    if (given[door] !== undefined) checkFunction(given[door], `${contract}.${door}`, 'async (bench) => { … }')
  }
}

/** @throws InvalidArgumentError when the suite cannot go by the bench's unit; then the bench is ended */
export async function checkUnit<B extends { readonly unit: number; end(): Promise<void> }>(
  bench: B,
): Promise<B> {
  if (bench.unit >= SHORTEST_UNIT) return bench
  await bench.end()
  throw new InvalidArgumentError('unit', bench.unit, {
    problem: 'is no time that the suite can go by',
    remedy: `Give milliseconds, at least ${SHORTEST_UNIT}; 50 suits real stores.`,
  })
}
