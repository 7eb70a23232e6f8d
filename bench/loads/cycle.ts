import type { Worker } from '../../packages/lab/src/index.ts'
import type { Bench, BenchProxy } from '../bench.ts'
import type { CyclesResult, CyclesWish } from '../client/cycles.ts'
import type { ContenderName } from '../contenders/index.ts'
import { interleave, PATIENCE_MS, withPatience, type Measurements } from '../measurements.ts'
import type { Plan, Sampling } from '../plan.ts'
import type { Load, RowSpec } from './load.ts'
import { serverCpu } from './server-cpu.ts'

/** Acquire and release, so many at once on names of their own, over one connection: nobody waits for a lock. */

interface CycleFamily {
  readonly prefix: string
  readonly ours: ContenderName
  readonly floor: ContenderName
  readonly delay: number
  readonly concurrencies: readonly number[]
  readonly sampling: (plan: Plan) => Sampling | null
  readonly withPeers: (plan: Plan) => boolean
}

/** Before the first round, so that what this concurrency needs is compiled; in milliseconds. */
const SETTLES = 150

const families: readonly CycleFamily[] = [
  {
    prefix: 'cycle',
    ours: 'holdfast',
    floor: 'raw',
    delay: 0,
    concurrencies: [1, 8, 64, 512],
    sampling: (plan) => plan.cycles,
    withPeers: () => true,
  },
  {
    prefix: 'cycle+1ms',
    ours: 'holdfast',
    floor: 'raw',
    delay: 1,
    concurrencies: [1, 8, 64],
    sampling: (plan) => plan.delayed,
    withPeers: (plan) => plan.peersAside,
  },
  {
    prefix: 'cycle+node-redis',
    ours: 'holdfast on node-redis',
    floor: 'raw node-redis',
    delay: 0,
    concurrencies: [1, 8, 64, 512],
    sampling: (plan) => plan.aside?.cycles ?? null,
    withPeers: () => false,
  },
  {
    prefix: 'cycle+auto-pipelining',
    ours: 'holdfast',
    floor: 'raw with auto-pipelining',
    delay: 0,
    concurrencies: [1, 8, 64, 512],
    sampling: (plan) => plan.aside?.cycles ?? null,
    withPeers: () => false,
  },
]

/** The loads of a plan. */
export function cycleLoads(plan: Plan): readonly Load[] {
  return families.flatMap((family) => {
    const sampling = family.sampling(plan)
    if (sampling === null) return []
    return family.concurrencies.map((concurrency) => cycleLoad(family, concurrency, sampling))
  })
}

function cycleLoad(family: CycleFamily, concurrency: number, sampling: Sampling): Load {
  const { ours, floor, delay } = family
  const id = `${family.prefix}/${concurrency}`
  const rows: RowSpec[] = [
    { id: `${id}/throughput`, metric: 'throughput', unit: 'cycles/s', better: 'higher' },
    { id: `${id}/p50`, metric: 'p50', unit: 'ms', better: 'lower' },
  ]
  if (id === 'cycle/64') {
    rows.push({ id: 'cpu/64', metric: 'cpu', unit: 'µs/cycle', better: 'lower' })
    rows.push({ id: 'cpu/64/server', metric: 'serverCpu', unit: 'µs/cycle', better: 'lower' })
  }
  return {
    id,
    ours,
    floor,
    rows,
    async run(bench) {
      const proxy = delay > 0 ? await bench.proxy({ counts: false, delay }) : null
      const names = [floor, ours, ...(family.withPeers(bench.plan) ? bench.peers : [])]
      try {
        return await measure(bench, { id, names, concurrency, sampling, proxy })
      } finally {
        await proxy?.end()
      }
    },
  }
}

interface CycleParts {
  readonly id: string
  readonly names: readonly ContenderName[]
  readonly concurrency: number
  readonly sampling: Sampling
  readonly proxy: BenchProxy | null
}

async function measure(bench: Bench, parts: CycleParts): Promise<Measurements> {
  const { id, names, concurrency, sampling, proxy } = parts
  const { rounds, peerRounds, warmUp, slice } = sampling
  const ready = new Set<ContenderName>()
  return interleave(bench, { load: id, names, rounds, peerRounds }, async (contender) => {
    if (!ready.has(contender)) {
      const [client] = await bench.open(contender, proxy === null ? {} : { url: proxy.url })
      await cycles(client, { concurrency, warmUp: 0, slice: SETTLES })
      ready.add(contender)
    }
    const [client] = await bench.fleet.clients(contender, 1)
    const before = await serverCpu(bench)
    const result = await cycles(client, { concurrency, warmUp, slice })
    return { ...result, serverCpu: ((await serverCpu(bench)) - before) / result.cycles }
  })
}

function cycles(client: Worker | undefined, wish: CyclesWish): Promise<CyclesResult> {
  if (client === undefined) throw new Error('no client')
  return withPatience(client.call<CyclesResult>('cycles', { ...wish }), wish.slice + PATIENCE_MS)
}
