import { SEARCHES } from '../search/searches.ts'

/** What the simulator was asked for on its command line. */
export interface SimOptions {
  /** How many seeds, one after the other. */
  readonly seeds: number
  readonly from: number
  /** Names of scenarios; each runs all seeds. */
  readonly scenarios: readonly string[]
  /** For the report: the mutant itself is in the environment before anything is loaded. */
  readonly mutant: string | null
  /** What is searched whole, in place of schedules. */
  readonly exhaustive: string | null
  /** Whether the first seed that fails ends the run. */
  readonly first: boolean
  readonly json: boolean
  readonly help: boolean
}

export const DEFAULT_SEEDS = 1_000
export const DEFAULT_SCENARIO = 'mixed'
const HIGHEST_SEED = 2 ** 32 - 1

export const usage = (scenarios: readonly (readonly [string, string])[]): string =>
  `npm run sim [-- --seeds N] [--from N] [--scenario NAME|all] [--mutant NAME] [--first] [--json]

  --seeds N        how many schedules of each scenario (${DEFAULT_SEEDS})
  --from N         the first seed (1); with --seeds 1 it replays one schedule
  --scenario NAME  one or some of these, joined by commas, or all (${DEFAULT_SCENARIO}):
${scenarios.map(([name, about]) => `                     ${name.padEnd(10)} ${about}`).join('\n')}
  --mutant NAME    runs the library with one of the mutants of test/mutants, up to the first seed that catches it
  --mutants        looks for the first seed that catches each mutant of the protocol; --only NAME,NAME
  --exhaustive NAME  searches every state of a small world, in place of schedules: ${Object.keys(SEARCHES).join(' or ')}
  --first          ends at the first schedule that fails
  --json           one JSON object on stdout, everything else on stderr (use npm run -s)
  --help           this text
`

/** The command line cannot be understood. The message says what is wrong with it. */
export class UsageError extends Error {}

/** @throws UsageError for anything that is not known */
export function parseOptions(args: readonly string[], known: readonly string[]): SimOptions {
  const words = args.flatMap((arg) => {
    const equals = arg.startsWith('--') ? arg.indexOf('=') : -1
    return equals === -1 ? [arg] : [arg.slice(0, equals), arg.slice(equals + 1)]
  })
  let seeds = DEFAULT_SEEDS
  let from = 1
  let scenarios: readonly string[] = [DEFAULT_SCENARIO]
  let mutant: string | null = null
  let exhaustive: string | null = null
  let first = false
  let json = false
  let help = false
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string
    const value = (): string => {
      const next = words[(at += 1)]
      if (next === undefined) throw new UsageError(`${word} needs a value`)
      return next
    }
    if (word === '--seeds') seeds = wholeNumber(word, value(), 1)
    else if (word === '--from') from = wholeNumber(word, value(), 0)
    else if (word === '--scenario') scenarios = scenariosNamed(value(), known)
    else if (word === '--mutant') mutant = value()
    else if (word === '--exhaustive') exhaustive = searchNamed(value())
    else if (word === '--first') first = true
    else if (word === '--json') json = true
    else if (word === '--help' || word === '-h') help = true
    else throw new UsageError(`unknown argument ${JSON.stringify(word)}`)
  }
  if (from + seeds - 1 > HIGHEST_SEED)
    throw new UsageError(`the last seed would be ${from + seeds - 1}; seeds end at ${HIGHEST_SEED}`)
  return { seeds, from, scenarios, mutant, exhaustive, first: first || mutant !== null, json, help }
}

function searchNamed(name: string): string {
  if (Object.hasOwn(SEARCHES, name)) return name
  throw new UsageError(
    `there is no search ${JSON.stringify(name)}; there are ${Object.keys(SEARCHES).join(' and ')}`,
  )
}

function wholeNumber(option: string, text: string, least: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= HIGHEST_SEED) return number
  throw new UsageError(
    `${option} takes a whole number from ${least} to ${HIGHEST_SEED}, not ${JSON.stringify(text)}`,
  )
}

function scenariosNamed(name: string, known: readonly string[]): readonly string[] {
  if (name === 'all') return known
  const names = name.split(',')
  const unknown = names.find((each) => !known.includes(each))
  if (unknown === undefined) return names
  throw new UsageError(
    `there is no scenario ${JSON.stringify(unknown)}; there are ${known.join(', ')}, and all`,
  )
}
