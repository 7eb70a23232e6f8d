import { historyRecord, type HistoryEntry } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { judgeLimiter as judgeWithBudget } from '../../src/sim/judge/limit-counts.ts'
import { judgeOnce } from '../../src/sim/judge/once.ts'
import { judgeSlots } from '../../src/sim/judge/slots.ts'
import type { Instant } from '../../src/sim/network/server-host.ts'
import type { LimiterPlan, Plan } from '../../src/sim/plan/plan.ts'
import { Traffic, type RunNote, type TakeNote, type WorkNote } from '../../src/sim/world/traffic.ts'

/** Goal: the judges of limiters and of what runs once find their faults in traffic made by hand, and excuse what is none. */

const at = (time: number, epoch = 0): Instant => ({ world: time, steady: time, clock: time, epoch, steps: 0 })

const take = (time: number, what: Partial<TakeNote> = {}): TakeNote => ({
  process: 'p',
  limiter: 0,
  how: 'take',
  cost: 1,
  asked: at(time),
  outcome: 'allowed',
  source: 'store',
  from: at(time),
  until: at(time),
  told: at(time),
  failed: null,
  changed: null,
  slot: null,
  ...what,
})
const denied = (time: number, what: Partial<TakeNote> = {}): TakeNote =>
  take(time, { outcome: 'denied', ...what })

const BUDGET = 500
const judgeLimiter = (plan: LimiterPlan, takes: readonly TakeNote[]) => judgeWithBudget(plan, takes, BUDGET)

const limiter = (kind: LimiterPlan['kind'], what: Partial<LimiterPlan> = {}): LimiterPlan => ({
  kind,
  limit: 2,
  per: 1_000,
  rememberFor: 0,
  lease: null,
  ...what,
})

describe('INV-R1: what a limiter admits', () => {
  const three = [take(100), take(200), take(900)]

  test('a sliding window with one too many is found out; a span that is longer, and one that lost its data, is not', () => {
    expect(judgeLimiter(limiter('sliding'), three)).toMatchObject([{ invariant: 'INV-R1' }])
    expect(judgeLimiter(limiter('sliding'), [take(100), take(200), take(1_101)])).toEqual([])
    const lost = [take(100), take(200), take(900, { from: at(900, 1), until: at(900, 1) })]
    expect(judgeLimiter(limiter('sliding'), lost)).toEqual([])
  })

  test('what may have been given back, and what is not known, is not held against it', () => {
    const back = { to: 0, asked: at(300), told: null, done: false }
    expect(judgeLimiter(limiter('sliding'), [take(100, { changed: back }), take(200), take(900)])).toEqual([])
    expect(judgeLimiter(limiter('sliding'), [take(100, { from: at(0) }), take(200), take(1_050)])).toEqual([])
  })

  test('what was asked before data were lost, and answered after that, is held against neither', () => {
    const across = take(900, { from: at(850), until: at(900, 1) })
    expect(judgeLimiter(limiter('sliding'), [take(100), take(200), across])).toEqual([])
    const after = (time: number) => take(time, { from: at(time, 1), until: at(time, 1) })
    expect(judgeLimiter(limiter('sliding'), [across, after(910), after(920)])).toEqual([])
    expect(judgeLimiter(limiter('sliding'), [across, after(910), after(920), after(930)])).toHaveLength(1)
  })

  test('where a take that was forgotten is given back, what is only a number may admit as much again', () => {
    const back = { to: 0, asked: at(410, 1), told: at(420, 1), done: true }
    const after = (time: number) => take(time, { from: at(time, 1), until: at(time, 1) })
    const again = [take(300, { changed: back }), after(400), after(405), after(430)]
    expect(judgeLimiter(limiter('fixed'), again)).toEqual([])
    expect(judgeLimiter(limiter('fixed'), [...again, after(440)])).toHaveLength(1)
    expect(judgeLimiter(limiter('sliding'), again)).toHaveLength(1)
  })

  test('a fixed window counts by the clock of its server; a bucket by what flows in', () => {
    expect(judgeLimiter(limiter('fixed'), three)).toHaveLength(1)
    expect(judgeLimiter(limiter('fixed'), [take(900), take(950), take(1_000)])).toEqual([])
    expect(judgeLimiter(limiter('bucket'), [take(100), take(101), take(102)])).toHaveLength(1)
    expect(judgeLimiter(limiter('bucket'), [take(100), take(101), take(601)])).toEqual([])
  })

  test('tokens in advance may be too many by a lease for each process', () => {
    const leased = limiter('sliding', { lease: 1 })
    expect(judgeLimiter(leased, three)).toEqual([])
    expect(judgeLimiter(leased, [...three, take(950)])).toHaveLength(1)
  })
})

describe('INV-R1: what a limiter denies', () => {
  test('with room left it must not; what nobody knows may have taken it', () => {
    expect(judgeLimiter(limiter('sliding'), [take(100), denied(200)])).toHaveLength(1)
    const unknown = take(150, { outcome: 'unknown', from: null, until: null, told: null })
    expect(judgeLimiter(limiter('sliding'), [take(100), unknown, denied(200)])).toEqual([])
    expect(judgeLimiter(limiter('bucket'), [take(100), take(101), denied(400)])).toEqual([])
    expect(judgeLimiter(limiter('bucket'), [take(100), take(101), denied(610)])).toHaveLength(1)
  })

  test('not where data were lost, or the clock was set back, between its asking and its answer', () => {
    const back = { to: 0, asked: at(150), told: at(160), done: true }
    const used = [take(100, { changed: back }), take(120)]
    expect(judgeLimiter(limiter('sliding'), [...used, denied(200)])).toHaveLength(1)
    expect(judgeLimiter(limiter('sliding'), [...used, denied(200, { until: at(210, 1) })])).toEqual([])
    const set = { ...at(1_800), clock: 900, steps: 1 }
    expect(judgeLimiter(limiter('bucket'), [take(100), take(101), denied(1_790)])).toHaveLength(1)
    expect(judgeLimiter(limiter('bucket'), [take(100), take(101), denied(1_790, { until: set })])).toEqual([])
  })

  test('from memory it does only what the store denied, not long ago, with nothing given back', () => {
    const remembers = limiter('sliding', { rememberFor: 500 })
    const full = [take(100), take(101), denied(200)]
    const memory = (time: number) => denied(time, { source: 'remembered' })
    expect(judgeLimiter(remembers, [...full, memory(600)])).toEqual([])
    expect(judgeLimiter(remembers, [...full, memory(720)])).toHaveLength(1)
    const back = { to: 0, asked: at(250), told: at(260), done: true }
    expect(
      judgeLimiter(remembers, [take(100, { changed: back }), ...full.slice(1), memory(600)]),
    ).toHaveLength(1)
  })

  test('a peek must not promise what is used up', () => {
    const peek = take(300, { how: 'peek' })
    expect(judgeLimiter(limiter('sliding'), [take(100), take(200), peek])).toHaveLength(1)
    expect(judgeLimiter(limiter('sliding'), [take(100), peek])).toEqual([])
  })
})

const plan = (what: Partial<Plan>): Plan => ({
  seed: 0,
  scenario: 'by hand',
  names: [],
  limiters: [],
  runs: [],
  budget: 100,
  server: { rate: 1, offMillis: 0 },
  delay: { from: 1, to: 1 },
  clients: [],
  faults: [],
  ...what,
})
const stop = (from: number, until: number): HistoryEntry => ({
  kind: 'stop',
  time: until,
  process: 'p',
  subject: 'p',
  from,
  until,
  cause: 'stopped',
})

test('INV-R1: more holders than slots are found out, and counted where one of them had stood still', () => {
  const world = plan({ limiters: [limiter('slots', { limit: 1 })] })
  const held = (time: number, process: string, ended: number | null) =>
    take(time, { process, slot: { ended, returned: null } })
  const both = [held(100, 'p', 900), held(400, 'q', 900)]
  expect(judgeSlots(world, both, [])).toMatchObject({ broken: [{ invariant: 'INV-R1' }], overlaps: {} })
  expect(judgeSlots(world, both, [historyRecord(stop(200, 800))])).toEqual({
    broken: [],
    overlaps: { stopped: 1 },
  })
  expect(judgeSlots(world, [held(100, 'p', 390), held(400, 'q', 900)], []).broken).toEqual([])
})

describe('INV-J1', () => {
  const work = (time: number, process: string, what: Partial<WorkNote> = {}): WorkNote => ({
    process,
    key: 0,
    payload: 1,
    value: `by ${process}`,
    attempt: 1,
    asked: at(time),
    began: at(time),
    lost: null,
    ended: at(time + 100),
    ends: 'value',
    ...what,
  })
  const run = (time: number, process: string, value: string): RunNote => ({
    process,
    key: 0,
    payload: 1,
    what: 'run',
    asked: at(time),
    told: at(time + 100),
    outcome: 'value',
    value,
    replayed: false,
    code: null,
    reason: null,
  })
  const judged = (
    onAbandoned: 'fail' | 'retry',
    works: readonly WorkNote[],
    runs: readonly RunNote[] = [],
    { faults = [], records = [] }: { faults?: Plan['faults']; records?: readonly HistoryEntry[] } = {},
  ) => {
    const traffic = new Traffic()
    traffic.works.push(...works)
    traffic.runs.push(...runs)
    const world = plan({ runs: [{ onAbandoned, lease: 1_000 }], faults })
    return judgeOnce(world, traffic, records.map(historyRecord)).broken
  }

  test('with fail a second work is found out, unless the first said that nothing happened', () => {
    expect(judged('fail', [work(0, 'p'), work(500, 'q')])).toMatchObject([{ invariant: 'INV-J1' }])
    expect(judged('fail', [work(0, 'p', { ends: 'nothing' }), work(500, 'q')])).toEqual([])
    expect(judged('retry', [work(0, 'p'), work(500, 'q')])).toEqual([])
  })

  test('two at once are found out, whatever was chosen', () => {
    expect(judged('retry', [work(0, 'p', { ended: at(900) }), work(500, 'q')])).toHaveLength(1)
  })

  test('two outcomes of one key, and one that no work had, are found out', () => {
    const works = [work(0, 'p'), work(500, 'q')]
    expect(judged('retry', works, [run(0, 'p', 'by p'), run(500, 'q', 'by q')])).toHaveLength(1)
    expect(judged('retry', works, [run(0, 'p', 'by p'), run(500, 'q', 'by p')])).toEqual([])
    expect(judged('retry', works, [run(0, 'p', 'of nobody')])).toHaveLength(1)
  })

  test('an outcome that is stored by who was overtaken is found out, where the other kept the key', () => {
    const works = [work(0, 'p', { ended: at(900) }), work(500, 'q', { attempt: 2, ended: at(1_500) })]
    const blocked = { records: [stop(0, 900)] }
    const own = { ...run(0, 'p', 'by p'), told: at(910) }
    expect(judged('retry', works, [own], blocked)).toHaveLength(1)
    expect(judged('retry', works, [{ ...own, told: at(910, 1) }], blocked)).toEqual([])
    expect(judged('retry', works, [{ ...own, replayed: true }], blocked)).toEqual([])
    const freed = [works[0] as WorkNote, work(500, 'q', { attempt: 2, ended: at(600), ends: 'nothing' })]
    expect(judged('retry', freed, [own], blocked)).toEqual([])
  })

  test('who shares what an older call of its process is answered is told what was stored before a loss', () => {
    const works = [work(0, 'p'), work(500, 'q')]
    const older = { ...run(0, 'p', 'by p'), told: at(410, 1) }
    const shares = { ...run(400, 'p', 'by p'), asked: at(400, 1), told: at(410, 1) }
    const newer = { ...run(500, 'q', 'by q'), asked: at(500, 1), told: at(510, 1) }
    expect(judged('retry', works, [older, shares, newer])).toEqual([])
    expect(judged('retry', works, [shares, newer])).toHaveLength(1)
  })

  test('who is told that a work was given up in its midst is told so of one that was', () => {
    const told: RunNote = { ...run(2_000, 'q', ''), outcome: 'told', value: null, reason: 'abandoned' }
    expect(judged('fail', [], [told])).toMatchObject([{ invariant: 'INV-J1' }])
    expect(judged('fail', [work(0, 'p', { ends: 'nothing' })], [told])).toHaveLength(1)
    expect(judged('fail', [work(0, 'p', { ended: null })], [told])).toEqual([])
    const kill = { when: { at: 0 }, kind: 'kill', client: 0, restartAfter: null } as const
    expect(judged('fail', [], [told], { faults: [kill] })).toEqual([])
    expect(judged('fail', [], [told], { records: [stop(0, 400)] })).toEqual([])
    const closed: HistoryEntry = {
      kind: 'call',
      time: 3_000,
      process: 'p',
      id: 'p-1',
      operation: 'close',
      wait: 0,
    }
    expect(judged('fail', [], [told], { records: [closed] })).toHaveLength(1)
  })

  test('a run that loses its key while nothing is wrong is found out', () => {
    expect(judged('retry', [work(0, 'p', { lost: 50 })])).toHaveLength(1)
  })
})
