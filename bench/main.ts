import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Bench } from './bench.ts'
import { peers } from './contenders/index.ts'
import { limiterPeers } from './contenders/limits/index.ts'
import { loadsOf } from './loads/index.ts'
import type { Load } from './loads/load.ts'
import { HELP, readOptions, UsageError, type Options } from './options.ts'
import { full, quick, withRounds, type Plan } from './plan.ts'
import { profileLoad } from './profile/take.ts'
import { curvesOf } from './report/curves.ts'
import { machineOf } from './report/machine.ts'
import { rowsOf, type Row } from './report/rows.ts'
import { tableOf } from './report/table.ts'

/** The benchmark's own program. `npm run bench` gets what it needs and then runs this. */

const RESULTS = join(import.meta.dirname, 'results')

/** Nothing was measured. */
const COULD_NOT_RUN = 2

try {
  process.exitCode = await main(readOptions(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  say(`${error.message}\n\n${HELP}`)
  process.exitCode = COULD_NOT_RUN
}

async function main(options: Options): Promise<number> {
  if (options.help) {
    console.log(HELP)
    return 0
  }
  const plan = planOf(options)
  const loads = chosen(loadsOf(plan), options.only)
  if (options.list) {
    for (const load of loads) console.log(load.id)
    return 0
  }
  const bench = await Bench.start({
    plan,
    peers: options.peers ? peers : [],
    limiterPeers: options.peers ? limiterPeers : [],
  })
  try {
    if (options.profile !== null) {
      console.log(await profileLoad(bench, options.profile, RESULTS))
      return 0
    }
    const machine = await machineOf(bench.redis)
    const rows = (await runAll(bench, loads)).filter((row) => isChosen(row.id, options.only))
    console.log(
      `\n${machine.cores} × ${machine.model}, Node ${machine.node}, Redis ${machine.redis}, ${plan.name} run\n`,
    )
    console.log(tableOf(rows))
    for (const note of bench.notes) console.log(`! ${note}`)
    const missed = rows.filter((row) => row.met === false)
    const aimed = rows.filter((row) => row.met !== null)
    console.log(`\n${aimed.length - missed.length} of ${aimed.length} targets met`)
    if (options.only.length === 0 && options.peers) {
      mkdirSync(RESULTS, { recursive: true })
      writeFileSync(join(RESULTS, 'latest.json'), `${JSON.stringify({ machine, rows }, null, 2)}\n`)
      writeFileSync(join(RESULTS, 'curves.svg'), curvesOf(rows))
    }
    return options.check && missed.length > 0 ? 1 : 0
  } finally {
    await bench.end()
  }
}

async function runAll(bench: Bench, loads: readonly Load[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const load of loads) {
    const began = performance.now()
    rows.push(...rowsOf(load, await load.run(bench)))
    say(`${load.id} (${((performance.now() - began) / 1_000).toFixed(1)} s)`)
  }
  return rows
}

function planOf({ quick: isQuick, rounds }: Options): Plan {
  const plan = isQuick ? quick : full
  return rounds === null ? plan : withRounds(plan, rounds)
}

/** @throws UsageError when an id is none of this plan's */
function chosen(loads: readonly Load[], only: readonly string[]): readonly Load[] {
  for (const id of only) {
    if (!loads.some((load) => load.rows.some((row) => isChosen(row.id, [id])))) {
      throw new UsageError(
        `--only ${id}: there is no such row (with --quick there are fewer). --list shows the loads.`,
      )
    }
  }
  return loads.filter((load) => load.rows.some((row) => isChosen(row.id, only)))
}

function isChosen(id: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some((wanted) => id === wanted || id.startsWith(`${wanted}/`))
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
