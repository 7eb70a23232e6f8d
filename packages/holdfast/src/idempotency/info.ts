import type { OnceView } from '../store/once/contract.ts'

/** What is known of a key. */
export interface OnceInfo {
  /**
   * `'running'`: under its lease. `'abandoned'`: its lease is over, and nobody knows what the run came to. `'done'`: its outcome
   * is replayed. `'unstored'`: it ran, and its outcome could not be stored. `'open'`: it may be run again.
   */
  readonly state: 'running' | 'abandoned' | 'done' | 'unstored' | 'open'
  /** Who brought it into this state: a run, or a settlement. */
  readonly owner: string
  /** Runs so far whose end nobody knows, the present one included. */
  readonly attempt: number
  /** When it was claimed; when its run ended or was settled. Milliseconds since 1970, by the store's clock. */
  readonly since: number
  /** Milliseconds left of a run's lease; else 0. */
  readonly leaseLeft: number
  /** Milliseconds until it is forgotten. */
  readonly expiresIn: number
}

export function infoOf({ state, owner, attempt, since, left, outcome, remaining }: OnceView): OnceInfo {
  const unstored = outcome?.form === 'unstored' ? 'unstored' : state
  return {
    state: state === 'running' && left === 0 ? 'abandoned' : unstored,
    owner,
    attempt,
    since,
    leaseLeft: left,
    expiresIn: remaining,
  }
}
