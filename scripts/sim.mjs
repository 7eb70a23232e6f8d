import { mutants } from '../test/mutants/index.mjs'
import { ensurePackages } from './bootstrap/packages.mjs'
import { CannotStart, endWithChildren, run, say } from './bootstrap/run.mjs'
import { mutantTable, simulator } from './sim-mutants.mjs'

/**
 * `npm run sim [-- --seeds N] [--from N] [--scenario NAME] [--mutant NAME]`: runs the library's own code and scripts through
 * schedules of faults under a virtual clock. Needs no server. `--mutants` looks for the seed that notices each mutant.
 */

const COULD_NOT_START = 2

endWithChildren()
const args = process.argv.slice(2)

try {
  const mutant = mutantNamed()
  await ensurePackages()
  if (args.includes('--mutants')) process.exit(await mutantTable(args))
  // A mutant is applied while the library is loaded, so it has to be known before.
  const env = { ...process.env, HOLDFAST_MUTANT: mutant ?? '' }
  const { code } = await run(process.execPath, [...simulator, ...args], { output: 'show', env })
  process.exitCode = code
} catch (error) {
  if (!(error instanceof CannotStart)) throw error
  say(error.message)
  process.exitCode = COULD_NOT_START
}

function mutantNamed() {
  const at = args.findIndex((arg) => arg === '--mutant' || arg.startsWith('--mutant='))
  if (at === -1) return null
  const name = args[at] === '--mutant' ? args[at + 1] : args[at]?.slice('--mutant='.length)
  if (name === undefined || name === '') throw new CannotStart('--mutant needs the name of a mutant')
  if (Object.hasOwn(mutants, name)) return name
  const near = Object.keys(mutants).filter((each) => each.includes(name) || name.includes(each))
  const hint = near.length === 0 ? '' : `; is it ${near.join(' or ')}?`
  throw new CannotStart(`there is no mutant ${JSON.stringify(name)} in test/mutants${hint}`)
}
