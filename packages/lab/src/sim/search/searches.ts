import { acquireModel, type AcquireBounds } from './acquire-model.ts'
import { ACQUIRE_RULES, type AcquireRules } from './acquire-rules.ts'
import { explore, type Explored } from './explore.ts'
import { FENCE_RULES, fenceModel, type FenceBounds, type FenceRules } from './fence-model.ts'
import { without } from './scripted-server.ts'

/** Something that is searched whole, within a bound. */
export interface Search {
  readonly about: string
  /** What the bound is, in words. */
  readonly bound: string
  run(): Explored
  /** The same within a bound that takes seconds. */
  runShort(): Explored
  /** With one of the rules taken out. */
  runWithout(rule: string): Explored
  /** Rules, each of which is needed. */
  readonly rules: readonly string[]
}

const FENCE_BOUNDS: FenceBounds = { grants: 4, faults: 2, ticks: 2 }
const SHORT_FENCE_BOUNDS: FenceBounds = { grants: 3, faults: 2, ticks: 1 }

const FENCE_WITHOUT: Readonly<Record<string, () => Partial<FenceRules>>> = {
  'time carries fences on': () => ({
    acquire: without(
      without(FENCE_RULES.acquire, 'local first = math.max(last + 1, nowMicros)', 'local first = last + 1'),
      'local simple = last and #last == #first',
      'local simple = false and last and #last == #first',
    ),
  }),
  'the last fence counts': () => ({
    acquire: without(
      without(FENCE_RULES.acquire, 'local first = math.max(last + 1, nowMicros)', 'local first = nowMicros'),
      'local simple = last and #last == #first',
      'local simple = false and last and #last == #first',
    ),
  }),
  'the last fence is kept until the clock has passed it': () => ({
    acquire: without(
      FENCE_RULES.acquire,
      'math.max(now, math.floor(fence / 1000)) + retention',
      'now + retention',
    ),
  }),
  'the guard compares order': () => ({ accepts: () => true }),
}

const ACQUIRE_BOUNDS: AcquireBounds = {
  ticks: 3,
  ttl: 2,
  budget: 2,
  asks: [2, 1],
  releases: 2,
  calls: [1, 1],
  copies: 0,
}
const SHORT_ACQUIRE_BOUNDS: AcquireBounds = { ...ACQUIRE_BOUNDS, releases: 1 }

const ACQUIRE_WITHOUT: Readonly<Record<string, () => Partial<AcquireRules>>> = {
  'nothing is granted after its last moment': () => ({
    acquire: without(
      without(ACQUIRE_RULES.acquire, 'elseif now > lastMoment(i) then', 'elseif false then'),
      'and now <= notAfter and',
      'and',
    ),
  }),
  '"mine" gives the full time again': () => ({
    acquire: without(
      ACQUIRE_RULES.acquire,
      "local reply = redis.pcall('PEXPIRE', lock, digits(math.max(left, tonumber(ttl))))",
      'local reply = left',
    ),
  }),
  'the deadline counts from the sending': () => ({ deadline: (_sent, heard, ttl) => heard + ttl }),
  'a grant that comes too late is not handed over': () => ({ handsOverLate: true }),
  '"late" speaks of one copy': () => ({ lateIsRefused: true }),
  'a release goes on beyond the last moment': () => ({ releaseEnds: 'answered' }),
  'what failed is given back': () => ({ compensates: false }),
  'a release compares the owner': () => ({
    release: without(
      without(ACQUIRE_RULES.release, 'elseif not isOwnedBy(value, owners[i]) then', 'elseif false then'),
      'simple = simple and value and',
      'simple = false and value and',
    ),
  }),
  'the refusal of one copy says nothing of another': () => ({ believesCopies: true }),
}

/** What `--exhaustive` knows. */
export const SEARCHES: Readonly<Record<string, Search>> = {
  fence: {
    about: 'fences and the guard, while the last fence or all data are lost and the clock is set',
    bound: 'four grants, two faults, time passes twice',
    run: () => explore(fenceModel(FENCE_BOUNDS)),
    runShort: () => explore(fenceModel(SHORT_FENCE_BOUNDS)),
    runWithout: (rule) =>
      explore(fenceModel(FENCE_BOUNDS, { ...FENCE_RULES, ...ruleIn(FENCE_WITHOUT, rule) })),
    rules: Object.keys(FENCE_WITHOUT),
  },
  acquire: {
    about:
      'acquire, asking again, giving back what failed, the last moment, over a network that delays and repeats',
    bound: 'two clients, one of which asks twice, two releases each; three ticks, ttl and budget of two',
    run: () => explore(acquireModel(ACQUIRE_BOUNDS)),
    runShort: () => explore(acquireModel(SHORT_ACQUIRE_BOUNDS)),
    runWithout: (rule) =>
      explore(acquireModel(ACQUIRE_BOUNDS, { ...ACQUIRE_RULES, ...ruleIn(ACQUIRE_WITHOUT, rule) })),
    rules: Object.keys(ACQUIRE_WITHOUT),
  },
}

function ruleIn<Rules>(table: Readonly<Record<string, () => Partial<Rules>>>, rule: string): Partial<Rules> {
  const rules = table[rule]
  if (rules === undefined) throw new RangeError(`there is no rule ${JSON.stringify(rule)}`)
  return rules()
}
