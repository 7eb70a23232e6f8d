import { formatWitness } from 'holdfast/testing'
import type { Fault, LimitStep, OnceStep, Plan, Step } from '../plan/plan.ts'
import type { Run } from '../run.ts'

/** A schedule that failed, for a person: what was broken, what the plan was, what happened, how to see it again. */
export function describeFailure(
  run: Run,
  seed: { readonly found: Run; readonly mutant: string | null },
): string {
  const { plan, faults, result } = run
  const lines = [
    `Seed ${plan.seed} of ${plan.scenario} breaks ${[...new Set(seed.found.faults.map(({ invariant }) => invariant))].join(', ')}.`,
    ...faults.slice(0, 5).map(({ invariant, sentence }) => `  ${invariant}  ${sentence}`),
    '',
    'What was planned, as far as it takes it to fail:',
    ...describePlan(plan).map((line) => `  ${line}`),
    '',
    'What happened:',
    ...formatWitness(result.records)
      .split('\n')
      .map((line) => `  ${line}`),
    '',
    `Again: ${replayCommand(plan, seed.mutant)}`,
  ]
  return lines.join('\n')
}

export function replayCommand({ seed, scenario }: Plan, mutant: string | null): string {
  const mutation = mutant === null ? '' : ` --mutant ${mutant}`
  return `npm run sim -- --scenario ${scenario} --from ${seed} --seeds 1${mutation}`
}

/** A plan in lines. */
export function describePlan(plan: Plan): string[] {
  const { budget, delay, server, clients, faults } = plan
  return [
    `budget ${budget} ms, messages take ${delay.from} to ${delay.to} ms, the server's clock runs at ${server.rate.toFixed(5)}, ${server.offMillis} ms off`,
    ...clients.flatMap(({ family, traits, callers }, index) =>
      callers.length === 0
        ? []
        : [
            `client-${index + 1} (${family}), clock at ${traits.rate.toFixed(5)}, wall ${Math.round(traits.wallOff)} ms off, timers up to ${traits.lateness.toFixed(1)} ms late`,
            ...callers.map(
              ({ startsAt, steps }) => `  from ${startsAt} ms: ${steps.map(describeStep).join('; ')}`,
            ),
          ],
    ),
    ...faults.map((fault) => `fault: ${describeFault(fault)}`),
  ]
}

function describeStep(step: Step): string {
  if (step.kind === 'pause') return `pauses ${step.for}`
  if (step.kind === 'limit' || step.kind === 'once') return describeOther(step)
  if (step.kind !== 'lock') return `${step.kind}s lock ${step.name + 1}`
  const { kind, how, name, work, ...terms } = step
  const given = Object.entries(terms)
    .filter(([, value]) => value !== null)
    .map(([term, value]) => `${term} ${String(value)}`)
  const done = work.map(({ kind: what, ...rest }) => [what, ...Object.values(rest)].join(' '))
  return `${how} ${kind} ${name + 1} (${given.join(', ')}) { ${done.join(', ')} }`
}

function describeOther({ kind, ...terms }: LimitStep | OnceStep): string {
  const given = Object.entries(terms).filter(([, value]) => value !== null && value !== 0)
  return `${kind} ${given.map(([term, value]) => `${term} ${JSON.stringify(value)}`).join(', ')}`
}

function describeFault({ when, kind, ...rest }: Fault): string {
  const moment =
    'at' in when
      ? `at ${when.at} ms`
      : `${when.after.toFixed(2)} ms after client-${when.client + 1} sends ${when.script} ${when.nth}`
  const details = Object.entries(rest).map(([name, value]) => {
    const told = name === 'client' ? `client-${Number(value) + 1}` : JSON.stringify(value)
    return name === 'client' ? told : `${name} ${told}`
  })
  return `${moment}: ${kind} ${details.join(', ')}`
}
