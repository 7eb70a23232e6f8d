import { explore, type Explored } from '../../sim/search/explore.ts'
import { without } from '../../sim/search/scripted-server.ts'
import { quorumFenceModel, QUORUM_RULES, type QuorumBounds, type QuorumRules } from './fence-model.ts'

/** One search through every state of a small quorum. */
export interface QuorumSearch {
  readonly about: string
  readonly bounds: QuorumBounds
}

const SMALL = { grants: 2, clocks: [1, 1, 2], latest: 1, early: false, restarts: 0 } as const
const LARGE = { grants: 2, clocks: [1, 2, 3], latest: 3, early: false, restarts: 0 } as const

/** Within bounds that take seconds. */
export const SMALL_SEARCHES: readonly QuorumSearch[] = [
  { about: 'locks end in time', bounds: SMALL },
  { about: 'locks may end too soon', bounds: { ...SMALL, early: true } },
  { about: 'a node comes back empty', bounds: { ...SMALL, restarts: 1 } },
]

/** Within bounds that take minutes. */
export const LARGE_SEARCHES: readonly QuorumSearch[] = [
  { about: 'locks end in time', bounds: LARGE },
  { about: 'locks may end too soon', bounds: { ...LARGE, early: true } },
  { about: 'a node comes back empty', bounds: { ...LARGE, restarts: 1 } },
  { about: 'three grants, locks end in time', bounds: { ...LARGE, grants: 3, latest: 2 } },
]

/** What is not promised: see docs/quorum.md. */
export const SIDE_BY_SIDE: QuorumSearch = {
  about: 'locks end too soon, and grants that are complete side by side',
  bounds: { ...SMALL, early: true, strict: true },
}

const EARLY = { ...SMALL, early: true }
const RESTART = { ...SMALL, restarts: 1 }

/** What is taken out, and the world in which that must be found. */
export const TAKEN_OUT: Readonly<
  Record<string, { readonly bounds: QuorumBounds; readonly rules: Partial<QuorumRules> }>
> = {
  'a node agrees only while the lock is still its owner’s': {
    bounds: EARLY,
    rules: {
      raise: without(QUORUM_RULES.raise, 'elseif not isOwnedBy(value, owner) then', 'elseif false then'),
    },
  },
  'a node agrees only when its own fence is not higher': {
    bounds: EARLY,
    rules: { raise: without(QUORUM_RULES.raise, 'if tonumber(own) > fence then', 'if false then') },
  },
  'a node that agrees raises its last fence': {
    bounds: SMALL,
    rules: { raise: without(QUORUM_RULES.raise, 'local failure = raiseLast(fence)', 'local failure = nil') },
  },
  'a majority agrees': { bounds: SMALL, rules: { confirmations: 1 } },
  'a node’s last fence counts': {
    bounds: SMALL,
    rules: {
      acquire: without(
        without(
          QUORUM_RULES.acquire,
          'local first = math.max(last + 1, nowMicros)',
          'local first = nowMicros',
        ),
        'local simple = last and #last == #first',
        'local simple = false and last and #last == #first',
      ),
    },
  },
  'a node that comes back empty stays shut': { bounds: RESTART, rules: { staysShut: false } },
}

export function search({ bounds }: QuorumSearch, rules: Partial<QuorumRules> = {}): Explored {
  return explore(quorumFenceModel(bounds, { ...QUORUM_RULES, ...rules }))
}
