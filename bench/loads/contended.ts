import type { Bench } from '../bench.ts'
import { until } from '../client/clock.ts'
import { contenders, type ContenderName } from '../contenders/index.ts'
import { interleave, type Measurements } from '../measurements.ts'
import type { Plan, Sampling } from '../plan.ts'
import { isAimedAt, targets } from '../targets.ts'
import { metricsOf, type Crowd } from '../turns.ts'
import { Arena } from './arena.ts'
import type { Load, RowSpec } from './load.ts'

/** Many waiters in many processes, and one name that all of them want, again and again. */

const crowds: readonly Crowd[] = [1, 2, 4].flatMap((processes) =>
  [1, 16, 64].flatMap((waiters) => [0, 1].map((work) => ({ processes, waiters, work }))),
)

/** Where nobody works, an overlap would be too short to be seen: a slice with work, to see whether there are any. */
const CHECK = { work: 1, warmUp: 0, slice: 150 }

/** In which commands are counted, in milliseconds. Not at the beginning, when all come at once, nor at the end. */
const COUNTED = { warmUp: 100, slice: 400 }

/** The loads of a plan: all, or (without `aside`) those that have a target. */
export function contendedLoads(plan: Plan): readonly Load[] {
  return crowds.flatMap((crowd) => {
    const { processes, waiters, work } = crowd
    const id = `contended/${processes}p-${waiters}w-${work}ms`
    const rows = rowsOf(id, crowd).filter(
      (row) => plan.aside !== null || row.metric !== 'commands' || row.id in targets,
    )
    const sampling = isAimedAt(rows.map((row) => row.id)) ? plan.contended : plan.aside?.contended
    if (sampling === undefined) return []
    const run = (bench: Bench) => measure(bench, { id, rows, crowd, sampling })
    return [{ id, ours: 'holdfast', floor: 'blocking pop', rows, run }]
  })
}

function rowsOf(id: string, { processes, waiters }: Crowd): RowSpec[] {
  const more = (metric: string, unit: string): RowSpec => ({
    id: `${id}/${metric}`,
    metric,
    unit,
    better: 'higher',
  })
  const rows = [more('acquisitions', 'acquisitions/s')]
  // With one waiter a process, the two are the same.
  if (waiters > 1) rows.push(more('waiter-hand-overs', 'hand-overs/s'))
  if (processes > 1) rows.push(more('process-hand-overs', 'hand-overs/s'))
  if (waiters > 1) rows.push(more('jain-waiters', 'Jain index'))
  if (processes > 1) rows.push(more('jain-processes', 'Jain index'))
  rows.push({ id: `${id}/commands`, metric: 'commands', unit: 'commands/acquisition', better: 'lower' })
  return rows
}

interface ContendedParts {
  readonly id: string
  readonly rows: readonly RowSpec[]
  readonly crowd: Crowd
  readonly sampling: Sampling
}

async function measure(bench: Bench, { id, rows, crowd, sampling }: ContendedParts): Promise<Measurements> {
  const names: ContenderName[] = ['blocking pop', 'holdfast', ...bench.peers]
  const countsCommands = rows.some((row) => row.metric === 'commands')
  // Where they are not compared with, what peers send is left out: counting takes longer than measuring.
  const countsPeers = bench.plan.peersAside && isAimedAt(rows.map((row) => row.id))
  const commands = new Map<ContenderName, number>()
  const comparesWithPeers = rows.some((row) => targets[row.id]?.of === 'ratio to best peer')
  const { rounds } = sampling
  const peerRounds = comparesWithPeers ? rounds : sampling.peerRounds
  const arena = new Arena(bench, crowd)
  try {
    const measurements = await interleave(
      bench,
      { load: id, names, rounds, peerRounds },
      async (contender, round) => {
        if (round === 0) {
          const counts = countsCommands && (countsPeers || contenders[contender].role !== 'peer')
          if (counts) commands.set(contender, await countCommands(bench, arena, contender, crowd.work))
          await arena.open(contender)
          if (crowd.work < CHECK.work) await arena.take(contender, CHECK)
        }
        return { ...metricsOf(await arena.take(contender, { ...sampling, work: crowd.work }), crowd) }
      },
    )
    for (const [contender, count] of commands) measurements.addToAll(contender, { commands: count })
    for (const [contender, count] of arena.overlaps) {
      if (count === 0) continue
      measurements.broken.add(contender)
      bench.notes.push(
        `${id}: ${contender} let two have the name at once, ${count} times: its figures do not count`,
      )
    }
    return measurements
  } finally {
    await arena.close()
  }
}

/** Commands an acquisition, as the clients send them, in the midst of the crowd. */
async function countCommands(
  bench: Bench,
  arena: Arena,
  contender: ContenderName,
  work: number,
): Promise<number> {
  const proxy = await bench.proxy({ counts: true, delay: 0 })
  try {
    await arena.open(contender, proxy.url)
    let commands = 0
    const meanwhile = async (from: number, to: number): Promise<void> => {
      await until(from)
      await proxy.reset()
      await until(to)
      commands = (await proxy.counts()).total
    }
    const { counted } = await arena.take(contender, { ...COUNTED, work, meanwhile })
    return commands / counted.length
  } finally {
    await proxy.end()
  }
}
