import type { Plan } from '../plan/plan.ts'
import { drawPlan } from '../plan/scenarios.ts'
import { shrink } from '../plan/shrink.ts'
import type { Run } from '../run.ts'
import { Runner } from '../runner.ts'
import type { SimOptions } from './options.ts'
import { describeFailure, replayCommand } from './report.ts'

/** Failing schedules that are shrunk and shown, for each invariant. */
const SHOWN_PER_INVARIANT = 1
const PROGRESS_EVERY_MS = 2_000
/** Failing schedules that are named. */
const MOST_NAMED = 1_000

/** What all schedules came to. */
export interface Totals {
  schedules: number
  failed: number
  milliseconds: number
  happenings: number
  grants: number
  losses: Record<string, number>
  overlaps: Record<string, number>
  refusedWrites: number
  /** What limiters answered; works that began under a key. */
  takes: Record<string, number>
  works: number
  violations: Record<string, number>
  /** The first seed that failed, of each scenario. */
  firstFailures: { scenario: string; seed: number; invariants: readonly string[]; replay: string }[]
  /** Every seed that failed, up to a thousand. */
  failures: { scenario: string; seed: number; invariants: readonly string[] }[]
}

/** Where results and progress go. */
export interface Output {
  readonly result: (text: string) => void
  readonly progress: (text: string) => void
  readonly now: () => number
}

/** Runs the schedules that the options ask for. */
export async function simulate(options: SimOptions, output: Output): Promise<Totals> {
  const runner = new Runner()
  const totals = newTotals()
  const began = output.now()
  const shown = new Map<string, number>()
  let told = began
  try {
    for (const { scenario, seed } of schedules(options)) {
      const run = await runner.run(drawPlan(seed, scenario))
      count(totals, run, options.mutant)
      if (run.faults.length > 0) {
        await show(runner, run, { options, output, shown })
        if (options.first) break
      }
      const now = output.now()
      totals.milliseconds = now - began
      if (now - told < PROGRESS_EVERY_MS) continue
      told = now
      output.progress(
        `${scenario}: ${seed - options.from + 1} of ${options.seeds}, ${perSecond(totals)} a second, ${totals.failed} failed`,
      )
    }
  } finally {
    runner.close()
  }
  totals.milliseconds = output.now() - began
  return totals
}

/** One scenario after the other; where the first failure ends the run, all of them by turns, so that the lowest seed is found. */
function* schedules({
  scenarios,
  from,
  seeds,
  first,
}: SimOptions): Generator<{ scenario: string; seed: number }> {
  for (let at = 0; at < scenarios.length * seeds; at += 1) {
    const [turn, step] = first
      ? [at % scenarios.length, Math.floor(at / scenarios.length)]
      : [Math.floor(at / seeds), at % seeds]
    yield { scenario: scenarios[turn] as string, seed: from + step }
  }
}

export function perSecond({ schedules, milliseconds }: Totals): string {
  return ((schedules * 1_000) / Math.max(1, milliseconds)).toFixed(0)
}

/** The totals for a person. */
export function describeTotals(totals: Totals): string {
  const list = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .sort(([, one], [, other]) => other - one)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ') || 'none'
  return [
    `${totals.schedules} schedules, ${perSecond(totals)} a second, ${totals.failed} failed.`,
    `  ${totals.happenings} events, ${totals.grants} grants, ${totals.refusedWrites} late writes refused by the fence`,
    `  takes: ${list(totals.takes)}; ${totals.works} works that run once`,
    `  losses told: ${list(totals.losses)}`,
    `  two who believed at once (INV-M2), by cause: ${list(totals.overlaps)}`,
    `  violations: ${list(totals.violations)}`,
    ...totals.failures.map(
      ({ scenario, seed, invariants }) => `    ${scenario} ${seed}: ${invariants.join(', ')}`,
    ),
  ].join('\n')
}

function newTotals(): Totals {
  return {
    schedules: 0,
    failed: 0,
    milliseconds: 0,
    happenings: 0,
    grants: 0,
    losses: {},
    overlaps: {},
    refusedWrites: 0,
    takes: {},
    works: 0,
    violations: {},
    firstFailures: [],
    failures: [],
  }
}

function count(
  totals: Totals,
  { plan, result, verdict, faults, overlaps }: Run,
  mutant: string | null,
): void {
  const { counted } = verdict
  totals.schedules += 1
  totals.happenings += result.happenings
  totals.grants += counted.acquires.granted
  totals.refusedWrites += counted.writes.refused
  add(totals.losses, counted.losses)
  add(totals.overlaps, counted.overlaps.byCause)
  add(totals.overlaps, overlaps)
  const { takes, works } = result.traffic
  for (const { outcome } of takes) add(totals.takes, { [outcome]: 1 })
  totals.works += works.length
  if (faults.length === 0) return
  totals.failed += 1
  const invariants = [...new Set(faults.map(({ invariant }) => invariant))]
  for (const invariant of invariants) add(totals.violations, { [invariant]: 1 })
  const { seed, scenario } = plan
  if (totals.failures.length < MOST_NAMED) totals.failures.push({ scenario, seed, invariants })
  if (!totals.firstFailures.some((each) => each.scenario === scenario))
    totals.firstFailures.push({ scenario, seed, invariants, replay: replayCommand(plan, mutant) })
}

function add(totals: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [what, count] of Object.entries(counts)) totals[what] = (totals[what] ?? 0) + count
}

async function show(
  runner: Runner,
  run: Run,
  { options, output, shown }: { options: SimOptions; output: Output; shown: Map<string, number> },
): Promise<void> {
  const invariant = run.faults[0]?.invariant ?? ''
  const before = shown.get(invariant) ?? 0
  shown.set(invariant, before + 1)
  if (before >= SHOWN_PER_INVARIANT || options.json) return
  const again = async (plan: Plan, by: Runner): Promise<Run | null> => {
    const tried = await by.run(plan)
    return tried.faults.some((fault) => fault.invariant === invariant) ? tried : null
  }
  output.progress(`seed ${run.plan.seed} of ${run.plan.scenario} fails; looking for the least that does …`)
  const smallest = await shrink(run.plan, async (plan) => (await again(plan, runner)) !== null)
  const tracer = new Runner({ traces: true })
  const shownRun = (await again(smallest, tracer)) ?? run
  tracer.close()
  output.result(`${describeFailure(shownRun, { found: run, mutant: options.mutant })}\n`)
}
