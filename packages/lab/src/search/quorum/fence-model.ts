import type { Model, Step } from '../../sim/search/explore.ts'
import { NODE_SCRIPTS, Nodes, type Node, type NodeScripts } from './nodes.ts'

/** How far the search goes, and what may go wrong. */
export interface QuorumBounds {
  readonly grants: number
  /** What the clocks of the three nodes begin with, and how far each goes: by how much they differ is any of it. */
  readonly clocks: readonly [number, number, number]
  readonly latest: number
  /** Whether a lock may end on a node while its holder still counts on it. */
  readonly early: boolean
  /** Whether fences must rise in the order in which grants are complete even so. They do not. */
  readonly strict?: boolean
  /** How often a node comes back empty. */
  readonly restarts: number
}

/** Rules, each of which can be taken out. */
export interface QuorumRules extends NodeScripts {
  /** A node that came back grants nothing until what it may have forgotten is over. */
  readonly staysShut: boolean
  /** Nodes that must agree to the fence. */
  readonly confirmations: number
  /** After "mine is higher" the fence is raised. */
  readonly raises: boolean
}

export const QUORUM_RULES: QuorumRules = {
  ...NODE_SCRIPTS,
  staysShut: true,
  confirmations: 2,
  raises: true,
}

type Phase = 'asking' | 'confirming' | 'granted' | 'over'

interface Grant {
  readonly phase: Phase
  /** By node: the fence it got there; 0 when it was not granted there. */
  readonly fences: readonly number[]
  /** By node: whether it has agreed to `fence`. */
  readonly agreed: readonly boolean[]
  readonly fence: number
  /** The highest fence of what had been granted when it was asked to be confirmed. */
  readonly floor: number
}

interface State {
  readonly nodes: readonly (Node & { readonly shutFor: readonly number[] | null })[]
  readonly grants: readonly Grant[]
  readonly highest: number
  readonly restarts: number
  readonly wrong: string | null
}

const NODES = [0, 1, 2] as const
const IDLE: Grant = {
  phase: 'asking',
  fences: [0, 0, 0],
  agreed: [false, false, false],
  fence: 0,
  floor: 0,
}

/**
 * Grants of a quorum of three with fences, all at once, by the shipped scripts: requests arrive at any time or never, answers are
 * seen or not, clocks differ and go on as they like, nodes come back empty, and locks may end too soon.
 *
 * Demanded: where locks end in time, fences rise in the order in which grants are confirmed. Where they may end too soon, two can
 * be confirmed side by side, and the fence of each must be above that of all that were granted before its confirmation began.
 */
export function quorumFenceModel(bounds: QuorumBounds, rules: QuorumRules = QUORUM_RULES): Model<State> {
  const scripts = new Nodes(rules)
  return {
    start: {
      nodes: bounds.clocks.map((clock) => ({ last: 0, lock: null, clock, shutFor: null })),
      grants: Array.from({ length: bounds.grants }, () => IDLE),
      highest: 0,
      restarts: 0,
      wrong: null,
    },
    *next(state) {
      for (const index of state.grants.keys()) yield* acting(state, index)
      for (const node of NODES) yield* happening(state, node)
    },
    keyOf,
    wrong: (state) => state.wrong,
  }

  function* acting(state: State, index: number): Generator<Step<State>> {
    const grant = state.grants[index] as Grant
    if (grant.phase === 'over') return
    if (grant.phase !== 'granted') for (const node of NODES) yield* granted(state, index, node)
    if (grant.phase === 'asking') yield* confirming(state, index)
    if (grant.phase === 'confirming') for (const node of NODES) yield* agreeing(state, index, node)
    yield { what: `${index + 1} is over`, state: withGrant(state, index, { ...IDLE, phase: 'over' }) }
  }

  /** A request of it arrives; also one that was held up while its fence is confirmed elsewhere. */
  function* granted(state: State, index: number, at: number): Generator<Step<State>> {
    const grant = state.grants[index] as Grant
    const node = state.nodes[at] as State['nodes'][number]
    if (grant.fences[at] !== 0 || node.lock !== null || node.shutFor !== null) return
    const next = scripts.acquire(node, index)
    const fences = grant.fences.with(at, next.lock.fence)
    const after = withNode(state, at, { ...next, shutFor: null })
    yield {
      what: `node ${at} grants ${index + 1} with ${next.lock.fence}`,
      state: withGrant(after, index, { ...grant, fences }),
    }
  }

  /** It has seen a majority, of whichever nodes. */
  function* confirming(state: State, index: number): Generator<Step<State>> {
    const grant = state.grants[index] as Grant
    const seen = new Set<number>()
    for (const one of NODES) {
      for (const other of NODES) {
        const [a = 0, b = 0] = [grant.fences[one], grant.fences[other]]
        if (one < other && a > 0 && b > 0) seen.add(Math.max(a, b))
      }
    }
    const floor = state.highest
    for (const fence of seen)
      yield {
        what: `${index + 1} asks the nodes to agree to ${fence}`,
        state: withGrant(state, index, { ...grant, phase: 'confirming', fence, floor }),
      }
  }

  function* agreeing(state: State, index: number, at: number): Generator<Step<State>> {
    const grant = state.grants[index] as Grant
    if (grant.agreed[at] === true) return
    const node = state.nodes[at] as State['nodes'][number]
    const { node: raised, answer } = scripts.raise(node, index, grant.fence)
    const after = withNode(state, at, { ...node, last: raised.last })
    if (typeof answer === 'number') {
      const fence = rules.raises ? answer : grant.fence
      yield {
        what: `node ${at} says that its own fence for ${index + 1} is ${answer}`,
        state: withGrant(after, index, { ...grant, fence, agreed: IDLE.agreed }),
      }
    } else if (answer === 'raised') {
      yield {
        what: `node ${at} agrees to ${grant.fence} for ${index + 1}`,
        state: confirmed(after, index, { ...grant, agreed: grant.agreed.with(at, true) }),
      }
    }
  }

  function confirmed(state: State, index: number, grant: Grant): State {
    if (grant.agreed.filter(Boolean).length < rules.confirmations) return withGrant(state, index, grant)
    const { fence } = grant
    const least = bounds.early && bounds.strict !== true ? grant.floor : state.highest
    const wrong = fence > least ? null : `${index + 1} is granted ${fence} after ${least} (INV-F1)`
    const highest = Math.max(state.highest, fence)
    return { ...withGrant(state, index, { ...IDLE, phase: 'granted', fence }), highest, wrong }
  }

  function* happening(state: State, at: number): Generator<Step<State>> {
    const node = state.nodes[at] as State['nodes'][number]
    const { lock, clock, shutFor } = node
    if (clock < bounds.latest)
      yield {
        what: `the clock of node ${at} goes on`,
        state: withNode(state, at, { ...node, clock: clock + 1 }),
      }
    const over = (grant: number): boolean => state.grants[grant]?.phase === 'over'
    if (lock !== null && (bounds.early || over(lock.grant)))
      yield { what: `the lock ends on node ${at}`, state: withNode(state, at, { ...node, lock: null }) }
    if (state.restarts < bounds.restarts) {
      const begun = [...state.grants.keys()].filter((grant) => !over(grant) && isBegun(state, grant))
      const empty = { last: 0, lock: null, clock, shutFor: rules.staysShut ? begun : null }
      yield {
        what: `node ${at} comes back empty`,
        state: { ...withNode(state, at, empty), restarts: state.restarts + 1 },
      }
    }
    // It was shut for longer than clocks run apart.
    if (shutFor?.every(over) === true)
      yield {
        what: `node ${at} opens`,
        state: withNode(state, at, {
          ...node,
          shutFor: null,
          clock: Math.max(clock, highestSeen(state) + 1),
        }),
      }
  }
}

/** Short: there are very many. */
function keyOf({ nodes, grants, highest, restarts, wrong }: State): string {
  let key = `${highest} ${restarts} ${wrong ?? ''}`
  for (const { last, lock, clock, shutFor } of nodes)
    key += `|${last},${clock},${lock === null ? '' : `${lock.grant}#${lock.fence}`},${shutFor?.join('') ?? '-'}`
  for (const { phase, fences, agreed, fence, floor } of grants)
    key += `|${phase[0]}${fences.join()},${agreed.map(Number).join('')},${fence},${floor}`
  return key
}

function isBegun({ grants }: State, index: number): boolean {
  const { phase, fences } = grants[index] as Grant
  return phase !== 'asking' || fences.some((fence) => fence > 0)
}

function highestSeen({ nodes, grants, highest }: State): number {
  return Math.max(
    highest,
    ...nodes.map(({ last }) => last),
    ...grants.flatMap(({ fence, fences }) => [fence, ...fences]),
  )
}

function withGrant(state: State, index: number, grant: Grant): State {
  return { ...state, grants: state.grants.with(index, grant) }
}

function withNode(state: State, index: number, node: State['nodes'][number]): State {
  return { ...state, nodes: state.nodes.with(index, node) }
}
