import { join } from 'node:path'
import { mutants } from '../test/mutants/index.mjs'
import { outOfReach } from '../test/mutants/out-of-reach.mjs'
import { root, run, say } from './bootstrap/run.mjs'

/** `npm run sim -- --mutants [--seeds N] [--only NAME,NAME]`: which seed of which scenario notices which mutant. */

/**
 * What Node runs the simulator with. A world is thrown away whole when it has ended: with much room for what is young it is
 * never copied. And the code is soon as fast as it gets.
 */
export const simulator = [
  '--min-semi-space-size=32',
  '--max-semi-space-size=64',
  '--no-lazy-feedback-allocation',
  '--import',
  join(root, 'build/register.mjs'),
  join(root, 'packages/lab/src/sim/main.ts'),
]

const DEFAULT_SEEDS = 300
/** Half of the machine, and no more than this. */
const PROCESSES = 2

const LOCKS =
  'exclusive,calm,mixed,network,stragglers,holders,server,hand-over,two-names,failover,reopening,epochs,slots,cluster'
const LIMITS = 'limits,late-takes,late-answers'
const ONCE = 'once,late-claims,given-back'
/** What a mutant is looked for in, by the beginning of its file's path. The first that fits counts. */
const SCENARIOS = [
  ['packages/holdfast/src/limit/', LIMITS],
  ['packages/holdfast/src/stores/redis/limit-', LIMITS],
  ['packages/holdfast/src/stores/redis/lua/limit-', LIMITS],
  ['packages/holdfast/src/stores/redis/lua/shared/limit-', LIMITS],
  ['packages/holdfast/src/idempotency/', ONCE],
  ['packages/holdfast/src/stores/redis/once-', ONCE],
  ['packages/holdfast/src/stores/redis/lua/once-', ONCE],
  ['packages/holdfast/src/stores/redis/lua/shared/once-', ONCE],
  ['packages/holdfast/src/stores/redis/gather.ts', `${LOCKS},${LIMITS},${ONCE}`],
  ['packages/holdfast/src/stores/redis/', LOCKS],
  ['packages/holdfast/src/lock/', LOCKS],
  ['packages/holdfast/src/store/operation.ts', `${LOCKS},${LIMITS},${ONCE}`],
  ['packages/holdfast/src/store/owner.ts', LOCKS],
  ['packages/holdfast/src/defaults.ts', LOCKS],
]

/**
 * @typedef {object} Found
 * @property {string} name
 * @property {{ scenario: string, seed: number, invariants: readonly string[] } | null} first
 * @property {string} [problem]
 */

/**
 * @param {readonly string[]} args
 * @returns {Promise<number>} exit status: 1 when a mutant was not noticed that should have been
 */
export async function mutantTable(args) {
  const seeds = Number(valueOf(args, '--seeds') ?? DEFAULT_SEEDS)
  if (!Number.isInteger(seeds) || seeds < 1) {
    say(`--seeds takes a whole number from 1, not ${JSON.stringify(valueOf(args, '--seeds'))}`)
    return 2
  }
  const only = valueOf(args, '--only')?.split(',') ?? null
  const unknown = only?.filter((name) => !Object.hasOwn(mutants, name)) ?? []
  if (unknown.length > 0) {
    say(`there is no mutant ${unknown.join(', ')} in test/mutants`)
    return 2
  }
  const due = Object.entries(mutants).flatMap(([name, { file }]) => {
    const scenarios = valueOf(args, '--scenario') ?? scenariosOf(file)
    const wanted = only === null ? !Object.hasOwn(outOfReach, name) : only.includes(name)
    return scenarios === null || !wanted ? [] : [{ name, scenarios }]
  })
  /** @type {Found[]} */
  const found = []
  const waiting = [...due]
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      found.push(await look(next.name, next.scenarios, seeds))
      process.stderr.write(`${found.length} of ${due.length}: ${line(/** @type {Found} */ (found.at(-1)))}\n`)
    }
  }
  await Promise.all(Array.from({ length: PROCESSES }, work))
  found.sort((one, other) => (one.name < other.name ? -1 : 1))
  const missed = found.filter(({ first }) => first === null)
  const rows = [
    '| mutant | scenario | first seed | what it breaks |',
    '|---|---|---|---|',
    ...found.map(line),
  ]
  process.stdout.write(
    `${rows.join('\n')}\n\n${found.length - missed.length} of ${found.length} noticed within ${seeds} seeds.\n`,
  )
  return missed.length === 0 ? 0 : 1
}

/** @param {string} file */
function scenariosOf(file) {
  return SCENARIOS.find(([path]) => file.startsWith(path ?? ''))?.[1] ?? null
}

/**
 * @param {string} name
 * @param {string} scenarios
 * @param {number} seeds
 * @returns {Promise<Found>}
 */
async function look(name, scenarios, seeds) {
  const args = ['--json', '--mutant', name, '--scenario', scenarios, '--seeds', String(seeds)]
  const env = { ...process.env, HOLDFAST_MUTANT: name }
  const { output } = await run(process.execPath, [...simulator, ...args], { output: 'keep', env })
  const json = /^\{$[^]*^\}$/m.exec(output)?.[0]
  if (json === undefined)
    return { name, first: null, problem: output.trim().split('\n').at(-1) ?? 'it said nothing' }
  return { name, first: JSON.parse(json).totals.firstFailures[0] ?? null }
}

/** @param {Found} found */
function line({ name, first, problem }) {
  if (first === null) return `| \`${name}\` | — | — | ${problem ?? 'nothing'} |`
  return `| \`${name}\` | ${first.scenario} | ${first.seed} | ${first.invariants.join(', ')} |`
}

/**
 * @param {readonly string[]} args
 * @param {string} option
 */
function valueOf(args, option) {
  const at = args.findIndex((arg) => arg === option || arg.startsWith(`${option}=`))
  if (at === -1) return undefined
  return args[at] === option ? args[at + 1] : args[at]?.slice(option.length + 1)
}
