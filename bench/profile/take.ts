import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import type { CyclesResult, CyclesWish } from '../client/cycles.ts'
import type { TakesResult, TakesWish } from '../client/limits/takes.ts'
import type { AnyName, ContenderName } from '../contenders/index.ts'
import type { LimiterName } from '../contenders/limits/index.ts'
import { Arena } from '../loads/arena.ts'
import { prepareTakes, shapes, type Shape } from '../loads/limits/takes.ts'
import { UsageError } from '../options.ts'
import { metricsOf, type Crowd } from '../turns.ts'
import { summarise, summaryText, type CpuProfile } from './summary.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Milliseconds. */
const WARM_UP = 2_000
const PROFILED = 3_000

/**
 * CPU profiles of ours and of the floor at a load, each from a process of its own and without its warm-up, written to the folder
 * and summed up. Of a contended load it is the first process that is profiled. Gives the text.
 *
 * @throws UsageError for another load
 */
export async function profileLoad(bench: Bench, load: string, folder: string): Promise<string> {
  const profile = profilerOf(bench, load)
  mkdirSync(folder, { recursive: true })
  const texts: string[] = []
  for (const contender of profile.contenders) {
    const name = `${load}-${contender}`.replaceAll(/[^\w+-]/g, '-')
    const file = join(folder, `${name}.cpuprofile`)
    const figure = await profile.take(contender, file)
    const summary = summarise(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, root)
    texts.push(summaryText(`${contender} at ${load}, ${figure} under the profiler`, summary))
  }
  return texts.join('\n')
}

interface Profiler<Name extends AnyName = AnyName> {
  readonly contenders: readonly Name[]
  /** Gives a figure by which to judge it. */
  take(this: void, contender: Name, file: string): Promise<string>
}

function profilerOf(bench: Bench, load: string): Profiler {
  const found = cyclesProfiler(bench, load) ?? turnsProfiler(bench, load) ?? takesProfiler(bench, load)
  if (found !== null) return found as Profiler
  const names = shapes.filter(({ delay }) => delay === 0).map(({ name }) => `limit/N/${name}`)
  throw new UsageError(
    `--profile ${load}: give cycle/N, as cycle/64, contended/Pp-Ww-Tms, as contended/4p-16w-1ms, or one of ${names.join(', ')}`,
  )
}

function cyclesProfiler(bench: Bench, load: string): Profiler<ContenderName> | null {
  const [, concurrency] = /^cycle\/([1-9]\d{0,3})$/.exec(load) ?? []
  if (concurrency === undefined) return null
  const wish: CyclesWish = { concurrency: Number(concurrency), warmUp: WARM_UP, slice: PROFILED }
  return {
    contenders: ['raw', 'holdfast'],
    take: (contender, file) => profileCycles(bench, contender, wish, file),
  }
}

function turnsProfiler(bench: Bench, load: string): Profiler<ContenderName> | null {
  const [, processes, waiters, work] = /^contended\/(\d)p-(\d{1,3})w-(\d)ms$/.exec(load) ?? []
  if (processes === undefined) return null
  const crowd = { processes: Number(processes), waiters: Number(waiters), work: Number(work) }
  return {
    contenders: ['blocking pop', 'holdfast'],
    take: (contender, file) => profileTurns(bench, contender, crowd, file),
  }
}

function takesProfiler(bench: Bench, load: string): Profiler<LimiterName> | null {
  const [, concurrency, name] = /^limit\/([1-9]\d{0,3})\/([\w-]+)$/.exec(load) ?? []
  const shape = shapes.find((each) => each.name === name && each.delay === 0)
  if (shape === undefined) return null
  return {
    contenders: ['one script call', 'holdfast limiter'],
    take: (limiter, file) => profileTakes(bench, limiter, { shape, concurrency: Number(concurrency) }, file),
  }
}

async function profileCycles(
  bench: Bench,
  contender: ContenderName,
  wish: CyclesWish,
  file: string,
): Promise<string> {
  const [client] = await bench.open(contender)
  await client?.call('cycles', { ...wish, slice: 0 })
  const result = await client?.call<CyclesResult>('profiledCycles', { ...wish, warmUp: 0 }, file)
  return `${(result?.cpu ?? NaN).toFixed(1)} µs of CPU a cycle`
}

async function profileTurns(
  bench: Bench,
  contender: ContenderName,
  crowd: Crowd,
  file: string,
): Promise<string> {
  const arena = new Arena(bench, crowd)
  try {
    await arena.open(contender)
    await arena.take(contender, { work: crowd.work, warmUp: 0, slice: WARM_UP })
    const turns = await arena.take(contender, { work: crowd.work, warmUp: 0, slice: PROFILED, profile: file })
    return `${metricsOf(turns, crowd).acquisitions.toFixed(0)} acquisitions a second`
  } finally {
    await arena.close()
  }
}

async function profileTakes(
  bench: Bench,
  limiter: LimiterName,
  { shape, concurrency }: { readonly shape: Shape; readonly concurrency: number },
  file: string,
): Promise<string> {
  const { client, subject, run } = await prepareTakes(bench, limiter, shape)
  await run({ concurrency, warmUp: 0, slice: WARM_UP })
  const wish: TakesWish = { subject, subjects: shape.subjects, concurrency, warmUp: 0, slice: PROFILED }
  const result = await client.call<TakesResult>('profiledTakes', { ...wish }, file)
  return `${result.cpu.toFixed(1)} µs of CPU a decision`
}
