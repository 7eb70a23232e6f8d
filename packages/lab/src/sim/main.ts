/** `npm run sim`: reads the arguments, runs the schedules, and sets the exit status. */

import { parseOptions, usage, UsageError, type SimOptions } from './command/options.ts'
import { describeSearch } from './command/search.ts'
import { describeTotals, simulate } from './command/simulate.ts'
import { scenario, scenarioNames } from './plan/scenarios.ts'

/** Some schedule failed, or the run broke off. */
const FAILED = 1
const COULD_NOT_START = 2

const help = usage(scenarioNames.map((name) => [name, scenario(name)?.about ?? ''] as const))

// Whoever reads has heard enough, as in `npm run sim | head`.
process.stdout.on('error', () => process.exit(FAILED))

const options = readOptions()
if (options?.help === true) process.stdout.write(help)
else if (options !== null) process.exitCode = await start(options)

function readOptions(): SimOptions | null {
  try {
    return parseOptions(process.argv.slice(2), scenarioNames)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${help}`)
    process.exitCode = COULD_NOT_START
    return null
  }
}

async function start(wanted: SimOptions): Promise<number> {
  if (wanted.exhaustive !== null) {
    const { text, found } = describeSearch(wanted.exhaustive)
    process.stdout.write(`${text}\n`)
    return found ? FAILED : 0
  }
  const totals = await simulate(wanted, {
    result: (text) => void (wanted.json ? process.stderr : process.stdout).write(`${text}\n`),
    progress: (text) => void process.stderr.write(`${text}\n`),
    now: () => performance.now(),
  })
  if (wanted.json) process.stdout.write(`${JSON.stringify({ options: wanted, totals }, null, 2)}\n`)
  else process.stdout.write(`${describeTotals(totals)}\n`)
  return totals.failed === 0 ? 0 : FAILED
}
