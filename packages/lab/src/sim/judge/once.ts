import type { HistoryRecord } from 'holdfast/testing'
import type { Instant } from '../network/server-host.ts'
import type { FaultKind, Plan } from '../plan/plan.ts'
import { ANSWERS_CUT } from '../world/fault-injector.ts'
import type { RunNote, Traffic, WorkNote } from '../world/traffic.ts'
import type { Broken } from './judge.ts'

/** A runner is told of its loss within this of its deadline. */
const TOLD_WITHIN_MS = 50

/** What the runs of all keys came to. */
export interface OnceVerdict {
  readonly broken: readonly Broken[]
  /** Works of one key that went on at once, by the faults that explain them. */
  readonly overlaps: Readonly<Record<string, number>>
}

/**
 * INV-J1: a key has one outcome, and everybody is told the same; with `fail` its work is begun once, with `retry` by one at a time.
 * A server that loses its data forgets what was run: what is compared lies within one span between losses.
 */
export function judgeOnce(plan: Plan, traffic: Traffic, records: readonly HistoryRecord[]): OnceVerdict {
  const broken: Broken[] = []
  const overlaps: Record<string, number> = {}
  for (const [key, { onAbandoned }] of plan.runs.entries()) {
    const works = traffic.works.filter((work) => work.key === key)
    const runs = traffic.runs.filter((run) => run.key === key)
    if (onAbandoned === 'fail') broken.push(...judgeBegun(key, works, records))
    broken.push(...judgeOutcomes(key, runs, works), ...judgeOvertaken(key, runs, works))
    if (wasAlwaysReached(plan, records)) broken.push(...judgeAbandoned(key, runs, works))
    if (isCalm(plan, records)) broken.push(...judgeKept(key, works))
    for (const [first, second] of atOnce(works, records, tolerance(plan))) {
      const causes = causesOf(records, first, second)
      for (const cause of causes) overlaps[cause] = (overlaps[cause] ?? 0) + 1
      if (causes.size > 0) continue
      broken.push(brokenBy(`Key ${key + 1} was run by ${first.process} and ${second.process} at once.`))
    }
  }
  return { broken, overlaps }
}

function brokenBy(sentence: string): Broken {
  return { invariant: 'INV-J1', name: null, sentence, witness: [] }
}

/** Nothing was ever in anybody's way. */
function isCalm({ faults }: Plan, records: readonly HistoryRecord[]): boolean {
  return faults.length === 0 && !records.some(({ kind }) => kind === 'stop')
}

/**
 * Whether everybody could clear away in time what was claimed for a call that had gone: a lease lasts longer than a call and what
 * clears up after it, nobody died or closed before the end, no server refused, whatever was in anybody's way took less time than a
 * lease lasts, and no lease ended before its time.
 */
function wasAlwaysReached({ runs, faults, budget }: Plan, records: readonly HistoryRecord[]): boolean {
  const lease = Math.min(...runs.map((run) => run.lease))
  if (lease < 2 * budget || faults.some(({ kind }) => LEAVES_KEYS.has(kind))) return false
  // Without an answer things are cleared away all the same, as long as the connection stands.
  const stands = !faults.some(({ kind }) => kind === 'reset')
  let trouble = 0
  for (const record of records) {
    if (record.kind !== 'stop' && record.kind !== 'fault') continue
    if (record.kind === 'fault' && record.breaks.includes('leases')) return false
    if (stands && record.kind === 'fault' && record.cause === ANSWERS_CUT) continue
    trouble += (record.until ?? Infinity) - record.from
  }
  return trouble < lease / 3
}

/** Who dies or closes may leave a key behind that it had claimed; and what a server refuses for good is not asked again. */
const LEAVES_KEYS: ReadonlySet<FaultKind['kind']> = new Set(['kill', 'close', 'refuse'])

/** Nobody is told that a work was given up in its midst while none was: none had begun, or all had said that nothing happened. */
function judgeAbandoned(key: number, runs: readonly RunNote[], works: readonly WorkNote[]): Broken[] {
  const told = runs.find(
    (run) =>
      run.reason === 'abandoned' &&
      run.told !== null &&
      !works.some(
        (work) =>
          work.began.world <= (run.told?.world ?? 0) && !(saidNothing(work, run.asked) && work.lost === null),
      ),
  )
  if (told === undefined) return []
  return [
    brokenBy(
      `${told.process} was told that the work of key ${key + 1} was given up in its midst, and none was.`,
    ),
  ]
}

/** Where nothing is wrong a run keeps its key for as long as it takes. */
function judgeKept(key: number, works: readonly WorkNote[]): Broken[] {
  const lost = works.find((work) => work.lost !== null && work.ended !== null && work.lost < work.ended.world)
  if (lost === undefined) return []
  return [brokenBy(`${lost.process} lost key ${key + 1} while it ran, and nothing was wrong.`)]
}

/** Whether data may have been lost between two moments of a history. */
function isParted(records: readonly HistoryRecord[], from: number, until: number): boolean {
  return records.some(
    (record) =>
      record.kind === 'fault' &&
      record.breaks.includes('leases') &&
      record.cause !== 'clock stepped forward' &&
      record.from <= until &&
      (record.until ?? Infinity) >= from,
  )
}

/** With `fail` no second work may begin, unless the first said that nothing happened. */
function judgeBegun(key: number, works: readonly WorkNote[], records: readonly HistoryRecord[]): Broken[] {
  for (const [at, second] of works.entries()) {
    const first = works
      .slice(0, at)
      .find(
        (work) =>
          !saidNothing(work, second.began) && !isParted(records, work.asked.world, second.began.world),
      )
    if (first === undefined) continue
    return [
      brokenBy(
        `The work of key ${key + 1} began by ${first.process} at ${first.began.world.toFixed(1)} ms, and again by ${second.process}.`,
      ),
    ]
  }
  return []
}

/** Whether a work had ended by then, and said that nothing happened: its key is free, or will be. */
function saidNothing({ ends, ended }: WorkNote, by: Instant): boolean {
  return ends === 'nothing' && ended !== null && ended.world <= by.world
}

/** All who were told an outcome were told the same, and one that some work of the same payload had. */
function judgeOutcomes(key: number, runs: readonly RunNote[], works: readonly WorkNote[]): Broken[] {
  const told = runs.filter(
    ({ outcome, told: at }) => at !== null && (outcome === 'value' || outcome === 'final'),
  )
  const settled = runs.filter(({ what }) => what === 'settle').map(({ value }) => value)
  const broken: Broken[] = []
  for (const run of told) {
    const made = works.some(({ value, payload }) => value === run.value && payload === run.payload)
    if (!made && !settled.includes(run.value))
      broken.push(
        brokenBy(
          `${run.process} was told ${run.value ?? ''} of key ${key + 1}, which nothing of its payload made.`,
        ),
      )
  }
  for (const [at, second] of told.entries()) {
    const first = told
      .slice(0, at)
      .find(
        (run) =>
          run.told?.epoch === second.told?.epoch &&
          run.asked.epoch === second.asked.epoch &&
          run.told?.epoch === run.asked.epoch &&
          ![run, second].some((each) => sharedOlder(each, told)),
      )
    if (first === undefined || first.value === second.value) continue
    broken.push(
      brokenBy(
        `Of key ${key + 1} ${first.process} was told ${first.value ?? ''}, and ${second.process} ${second.value ?? ''}.`,
      ),
    )
  }
  return broken.slice(0, 1)
}

/** Whose key was taken over while its work went on is told so: its outcome is not stored while the other runs, nor after. */
function judgeOvertaken(key: number, runs: readonly RunNote[], works: readonly WorkNote[]): Broken[] {
  for (const run of runs) {
    const own = works.find(({ value }) => value === run.value)
    if (own === undefined || run.replayed || run.told === null) continue
    const { epoch } = run.told
    const other = works.find(
      (work) =>
        // Which of them began first says nothing: an answer to a claim may come late.
        (work.attempt > own.attempt || work.asked.world > own.began.world) &&
        work.began.world < (own.ended?.world ?? 0) &&
        work.asked.epoch === epoch &&
        work.ends !== 'nothing',
    )
    if (other === undefined) continue
    return [
      brokenBy(`${run.process} stored its outcome of key ${key + 1}, which ${other.process} had taken over.`),
    ]
  }
  return []
}

/** Calls of one process share what the first of them is answered: one that began before data were lost, here. */
function sharedOlder(run: RunNote, told: readonly RunNote[]): boolean {
  return told.some(
    (first) =>
      first.process === run.process &&
      first.value === run.value &&
      first.asked.epoch !== run.asked.epoch &&
      first.asked.world <= run.asked.world &&
      (first.told?.world ?? Infinity) >= run.asked.world,
  )
}

function* atOnce(
  works: readonly WorkNote[],
  records: readonly HistoryRecord[],
  slack: number,
): Generator<[WorkNote, WorkNote]> {
  const endOf = (work: WorkNote): number => {
    const death = records.find((record) => record.kind === 'death' && record.subject === work.process)
    const closed = records.find(
      (record) => record.kind === 'call' && record.operation === 'close' && record.process === work.process,
    )
    const ends = [work.lost, work.ended?.world, death?.time, closed?.time]
    return Math.min(...ends.map((end) => end ?? Infinity))
  }
  for (const [at, second] of works.entries())
    for (const first of works.slice(0, at))
      if (endOf(first) > second.began.world + slack && endOf(second) > second.began.world + slack)
        yield [first, second]
}

function tolerance({ clients }: Plan): number {
  return TOLD_WITHIN_MS + Math.max(0, ...clients.map(({ traits }) => traits.lateness))
}

function causesOf(records: readonly HistoryRecord[], first: WorkNote, second: WorkNote): Set<string> {
  const causes = new Set<string>()
  for (const record of records) {
    if (record.kind !== 'stop' && record.kind !== 'fault') continue
    const breaks =
      record.kind === 'stop' || record.breaks.includes('leases') || record.breaks.includes('timing')
    const concerns = record.subject === null || [first.process, second.process].includes(record.subject)
    const touches = record.from <= second.began.world && (record.until ?? Infinity) >= first.asked.world
    if (breaks && concerns && touches) causes.add(record.cause)
  }
  return causes
}
