import type { HistoryEntry } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { judgeEpochs } from '../../src/sim/judge/epochs.ts'
import { judgeOwnKeys } from '../../src/sim/judge/own-keys.ts'
import { judgeSleeping } from '../../src/sim/judge/sleeping.ts'
import { judgeAgainstStore } from '../../src/sim/judge/store-truth.ts'
import { judgeUnheard } from '../../src/sim/judge/unheard.ts'
import type { Plan } from '../../src/sim/plan/plan.ts'
import {
  ask,
  died,
  ended,
  fault,
  freed,
  givesBack,
  granted,
  keySeen,
  lost,
  nextOrder,
  OTHER,
  OWN,
  PROCESSES,
  records,
  refused,
  renewed,
  store,
} from './history-by-hand.ts'

/** Goal: what only the simulator judges is judged rightly: each judge finds its fault in a history made by hand, and excuses what is none. */

const plan: Plan = {
  seed: 0,
  scenario: 'by hand',
  names: ['a'],
  limiters: [],
  runs: [],
  budget: 100,
  server: { rate: 1, offMillis: 0 },
  delay: { from: 1, to: 1 },
  clients: [
    {
      family: 'ioredis',
      traits: { rate: 1, wallOff: 0, lateness: 0 },
      callers: [{ startsAt: 0, steps: [] }],
    },
  ],
  faults: [],
}

test('INV-Q1: who waits for two seconds beside a free lock has slept; not while something was broken', () => {
  const history = [
    store(0, 'grant', OTHER),
    ask(10, 'p', { wait: 5_000 }),
    freed(500, OTHER),
    store(2_500, 'grant', OWN),
  ]
  const end = granted(2_501, 'p', { deadline: 3_400 })
  expect(judgeSleeping(plan, records(...history, end), [])).toMatchObject([
    { invariant: 'INV-Q1', name: 'a' },
  ])
  expect(judgeSleeping(plan, records(...history, end, fault(600, 700, 'service')), [])).toEqual([])
  const soon = [...history.slice(0, 3), store(1_600, 'grant', OWN), granted(1_601, 'p', { deadline: 2_500 })]
  expect(judgeSleeping(plan, records(...soon), [])).toEqual([])
})

test('INV-Q1: a lease that ran out is a free lock too', () => {
  const history = [
    store(0, 'grant', OTHER, { expires: 400 }),
    ask(10, 'p', { wait: 5_000 }),
    store(2_500, 'grant', OWN),
    granted(2_501, 'p', { deadline: 3_400 }),
  ]
  expect(judgeSleeping(plan, records(...history), [])).toHaveLength(1)
})

test('INV-Q1: a lock that an older copy of the data brought back is not free', () => {
  const history = [store(0, 'grant', OTHER), ask(10, 'p', { wait: 5_000 }), freed(500, OTHER)]
  const back = { name: 'a', owner: OTHER, order: nextOrder(), time: 510, expires: 2_400 }
  const end = [store(2_410, 'grant', OWN), granted(2_411, 'p', { deadline: 3_300 })]
  expect(judgeSleeping(plan, records(...history, ...end), [back])).toEqual([])
  expect(judgeSleeping(plan, records(...history, ...end), [{ ...back, expires: 900 }])).toHaveLength(1)
})

test('INV-T1: who lost a lock with its server is told soon after a look at the next one, or at the one after that', () => {
  const history = [
    ask(0),
    granted(5, 'p', { deadline: 9_000 }),
    fault(1_000, 1_100, 'service'),
    freed(1_000, OWN, 'failover'),
  ]
  const judged = (looks: readonly number[], ...more: HistoryEntry[]) => {
    const notes = looks.map((time) => ({ process: 'p', time }))
    const all = records(...history, ...more, ended(9_000))
    return judgeEpochs({ ...plan, tells: true }, all, { told: [], looks: notes })
  }
  expect(judged([1_101])).toMatchObject([{ invariant: 'INV-T1' }])
  expect(judged([1_101], lost(1_150, 'missing'))).toEqual([])
  const down = fault(1_102, 5_000, 'service')
  expect(judged([1_101], down)).toEqual([])
  expect(judged([1_101, 5_001], down)).toMatchObject([{ invariant: 'INV-T1' }])
  expect(judged([1_101, 5_001], down, lost(5_020, 'missing'))).toEqual([])
})

test('INV-T1: who counts on more time than the server gave is found out; a fault that ends leases excuses it', () => {
  const history = [ask(0), store(5, 'grant', OWN, { expires: 1_005 })]
  const late = granted(20, 'p', { deadline: 1_010 })
  expect(judgeAgainstStore(records(...history, late))).toMatchObject([{ invariant: 'INV-T1' }])
  expect(judgeAgainstStore(records(...history, granted(20, 'p', { deadline: 1_004 })))).toEqual([])
  expect(judgeAgainstStore(records(...history, fault(10, 10, 'leases'), late))).toEqual([])
})

test('INV-T1: who is told that its lock was taken by force must have lost it so, if not to another copy of its own ask', () => {
  const history = [ask(0), store(5, 'grant', OWN, { expires: 1_005 }), granted(20, 'p', { deadline: 990 })]
  const loss = lost(60, 'forced')
  expect(judgeAgainstStore(records(...history, loss))).toMatchObject([{ invariant: 'INV-T1' }])
  const again: HistoryEntry[] = [freed(40, OWN, 'force'), store(50, 'grant', OWN, { expires: 1_050 })]
  expect(judgeAgainstStore(records(...history, ...again, loss))).toEqual([])
})

test('INV-M1: a renewal of another grant of the same owner is found out', () => {
  const history = [ask(0), store(5, 'grant', OWN, { expires: 1_005 }), granted(20, 'p', { deadline: 990 })]
  const renewal = renewed(320, 1_290)
  expect(
    judgeAgainstStore(records(...history, store(310, 'renew', OWN, { expires: 1_310 }), renewal)),
  ).toEqual([])
  expect(
    judgeAgainstStore(records(...history, store(310, 'renew', OWN, { expires: 1_310, fence: 9n }), renewal)),
  ).toMatchObject([{ invariant: 'INV-M1' }])
})

test('INV-H2: a key of an owner that nobody was told of may stay for the bound, and no longer', () => {
  const failed = refused(100, 'error')
  expect(judgeOwnKeys(plan, records(ask(0), failed, keySeen(1_490)), PROCESSES, [])).toEqual([])
  expect(judgeOwnKeys(plan, records(ask(0), failed, keySeen(1_510)), PROCESSES, [])).toMatchObject([
    { invariant: 'INV-H2' },
  ])
  expect(judgeOwnKeys(plan, records(ask(0), failed, died(200), keySeen(1_510)), PROCESSES, [])).toEqual([])
})

test('INV-H2: busy is never said about a key of the caller itself', () => {
  const own = [ask(0, 'p', { wait: 0 }), store(5, 'grant', OWN), refused(40, 'busy')]
  expect(judgeOwnKeys(plan, records(...own), PROCESSES, [])).toMatchObject([{ invariant: 'INV-H2' }])
  const others = [ask(0, 'p', { wait: 0 }), store(5, 'grant', OTHER), refused(40, 'busy')]
  expect(judgeOwnKeys(plan, records(...others), PROCESSES, [])).toEqual([])
  const truly = [
    store(-9, 'grant', OTHER),
    ask(0, 'p', { wait: 0 }),
    freed(4, OTHER),
    store(5, 'grant', OWN),
    refused(40, 'busy'),
  ]
  expect(judgeOwnKeys(plan, records(...truly), PROCESSES, [])).toEqual([])
  const back = { name: 'a', owner: OTHER, order: nextOrder(), time: 1, expires: 4 }
  const after = [ask(0, 'p', { wait: 0 }), store(5, 'grant', OWN), refused(40, 'busy')]
  expect(judgeOwnKeys(plan, records(...after), PROCESSES, [back])).toEqual([])
})

test('INV-H2: what is given back while answers are cut is gone all the same, though nobody hears of it', () => {
  const cut = fault(50, 900, 'service', { cause: 'answers cut', subject: 'p' })
  const history = [ask(0), store(5, 'grant', OWN), granted(10, 'p', { deadline: 990 }), cut]
  const release = givesBack(100)
  expect(judgeUnheard(plan, records(...history, release))).toMatchObject([{ invariant: 'INV-H2' }])
  expect(judgeUnheard(plan, records(...history, release, freed(140, OWN)))).toEqual([])
  expect(judgeUnheard(plan, records(...history, release, fault(120, 130, 'service')))).toEqual([])
  expect(judgeUnheard(plan, records(...history.slice(0, 3), release))).toEqual([])
})
