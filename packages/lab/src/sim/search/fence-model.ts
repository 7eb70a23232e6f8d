import acquire from '../../../../holdfast/src/stores/redis/lua/acquire.lua'
import type { Model, Step } from './explore.ts'
import { livingAt, ScriptedServer, textAt, type Data, type Script } from './scripted-server.ts'

/** Scripts and rules of the search for fences that fall. Taking one out must be found. */
export interface FenceRules {
  readonly acquire: Script
  /** How a guard compares: what it accepts after the highest that it has seen. */
  readonly accepts: (fence: number, highest: number) => boolean
}

export const FENCE_RULES: FenceRules = { acquire, accepts: (fence, highest) => fence >= highest }

/** How far the search goes. */
export interface FenceBounds {
  readonly grants: number
  /** Losses of the last fence, of all data, and steps of the clock, taken together. */
  readonly faults: number
  /** Times that time passes. */
  readonly ticks: number
}

interface FenceState {
  /** The server's clock in milliseconds since the start. */
  readonly now: number
  readonly data: Data
  /** Fences in the order of their grants. */
  readonly grants: readonly number[]
  /** Writes on their way: which grant. */
  readonly writes: readonly number[]
  /** The grant whose write was accepted last (-2: a stale one was), and its fence. */
  readonly accepted: { readonly grant: number; readonly fence: number }
  readonly faults: number
  readonly ticks: number
}

const START_MILLIS = 1_700_000_000_000
const DAY = 86_400_000
const RETENTION = DAY
const TTL = 1_000
const LOCK = 'lock'
const LAST = 'fence'
/** The clock goes on by so much: a moment, a lease, more than the last fence is kept. */
const PASSES = [1, TTL + 1, 1.5 * DAY]
/** The clock is set by so much. */
const SETS = [-10, -1_500, -2 * DAY, 2 * DAY]

/**
 * Grants of two clients, one after the other, by the shipped script: while the last fence is lost, everything is lost, and the
 * clock is set back and forth. Left out is what the design leaves out: the last fence is gone *and* the clock stands behind
 * the highest that was given out.
 */
export function fenceModel(bounds: FenceBounds, rules: FenceRules = FENCE_RULES): Model<FenceState> {
  const server = new ScriptedServer()
  return {
    start: {
      now: 0,
      data: [],
      grants: [],
      writes: [],
      accepted: { grant: -1, fence: 0 },
      faults: 0,
      ticks: 0,
    },
    *next(state) {
      yield* asking(state)
      yield* releasing(state)
      yield* writing(state)
      if (state.ticks < bounds.ticks)
        for (const by of PASSES) yield* moved(state, by, { ticks: state.ticks + 1 }, `time passes: ${by} ms`)
      if (state.faults < bounds.faults) yield* faulty(state)
    },
    keyOf: (state) => JSON.stringify(state),
    wrong,
  }

  function* asking(state: FenceState): Generator<Step<FenceState>> {
    if (state.grants.length === bounds.grants || textAt(state.data, LOCK) !== null) return
    const client = state.grants.length % 2
    const id = `${client === 0 ? 'A' : 'B'}${'x'.repeat(20)}${state.grants.length}`
    const { data, reply } = server.run(
      rules.acquire,
      {
        keys: [LAST, LOCK, 'queue'],
        args: ['call', 'process', String(RETENTION), String(TTL), '', '@h:1', String(START_MILLIS * 2), id],
      },
      { data: state.data, micros: (START_MILLIS + state.now) * 1_000 },
    )
    const fence = fenceIn(reply)
    const grants = [...state.grants, fence]
    yield {
      what: `${client === 0 ? 'A' : 'B'} is granted ${fence}`,
      state: { ...state, data, grants, writes: [...state.writes, grants.length - 1] },
    }
  }

  function* releasing(state: FenceState): Generator<Step<FenceState>> {
    if (textAt(state.data, LOCK) === null) return
    yield { what: 'the holder gives it back', state: { ...state, data: without(state.data, LOCK) } }
  }

  function* writing(state: FenceState): Generator<Step<FenceState>> {
    for (const grant of state.writes) {
      const writes = state.writes.filter((each) => each !== grant)
      const fence = state.grants[grant] as number
      const isAccepted = rules.accepts(fence, state.accepted.fence)
      const accepted = isAccepted ? { grant, fence } : state.accepted
      yield {
        what: `the write of grant ${grant + 1} arrives, and is ${isAccepted ? 'accepted' : 'refused'}`,
        // A stale one that is accepted shows at once: the guard has seen a later grant.
        state: {
          ...state,
          writes,
          accepted: isAccepted && grant < state.accepted.grant ? { grant: -2, fence } : accepted,
        },
      }
    }
  }

  function* faulty(state: FenceState): Generator<Step<FenceState>> {
    const faults = state.faults + 1
    const highest = Math.max(0, ...state.grants)
    const isAhead = (START_MILLIS + state.now) * 1_000 > highest
    if (isAhead && textAt(state.data, LAST) !== null)
      yield { what: 'the last fence is lost', state: { ...state, faults, data: without(state.data, LAST) } }
    if (isAhead && state.data.length > 0)
      yield { what: 'all data are lost', state: { ...state, faults, data: [] } }
    for (const by of SETS) {
      const later = (START_MILLIS + state.now + by) * 1_000 > highest
      if (by < 0 && !later && textAt(livingAt(state.data, START_MILLIS + state.now), LAST) === null) continue
      yield* moved(state, by, { faults }, `the clock is set by ${by} ms`)
    }
  }

  /** The clock moves, and what has expired is gone; left out where that takes the last fence while it is needed. */
  function* moved(
    state: FenceState,
    by: number,
    counts: Partial<FenceState>,
    what: string,
  ): Generator<Step<FenceState>> {
    const now = state.now + by
    yield { what, state: { ...state, ...counts, now, data: livingAt(state.data, START_MILLIS + now) } }
  }
}

function wrong({ grants, accepted }: FenceState): string | null {
  if (accepted.grant === -2) return 'a write is accepted after one of a later grant (INV-F2)'
  const last = grants.at(-1)
  const before = grants.at(-2)
  return last === undefined || before === undefined || last > before
    ? null
    : `the fence ${last} follows ${before} (INV-F1)`
}

function without(data: Data, key: string): Data {
  return data.filter(([each]) => each !== key)
}

function fenceIn(reply: unknown): number {
  const [, , first, fence] = reply as [string, string, string | string[], string?]
  const text = first === 'all' ? fence : Array.isArray(first) ? first[1] : first
  return Number(text)
}
