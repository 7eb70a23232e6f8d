import { bounds, defaults } from '../../defaults.ts'
import { parseDuration, type Duration } from '../../duration.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { checkBoolean, checkOptions } from '../../options.ts'
import type { Store } from '../../store/contract.ts'
import type { QuorumTerms } from './quorum.ts'

/** What {@link quorumStore} takes beside its nodes. */
export interface QuorumOptions {
  /**
   * How long one node may take to answer; one that takes longer counts as down for that round. 5 ms to 10 s; default 200 ms. A
   * grant takes at most this long, with `fence` at most three times: a `ttl` that is not longer is refused.
   */
  nodeBudget?: Duration
  /**
   * The part of a lease that a node's clock may gain on ours, from 0.01 to 0.5; default 0.01. The nodes keep a lease longer by
   * what is above 0.01, so that it ends for its holder first.
   */
  drift?: number
  /** Whether a grant has a fence that rises over all nodes, which costs one more round for each. Default: it has none. */
  fence?: boolean
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkQuorumOptions(options: QuorumOptions): QuorumTerms {
  checkOptions(options, ['nodeBudget', 'drift', 'fence'], 'quorumStore')
  const { nodeBudget = defaults.nodeBudget, drift = bounds.driftShare, fence = false } = options
  if (typeof drift !== 'number' || !(drift >= bounds.driftShare && drift <= bounds.maxDrift)) {
    throw new InvalidArgumentError('drift', drift, {
      problem: `is not a number from ${bounds.driftShare} to ${bounds.maxDrift}`,
      remedy: 'Give the part of a lease that clocks may run apart, as 0.02 for 2 %.',
    })
  }
  const nodeBounds = { min: bounds.minNodeBudget, max: bounds.maxNodeBudget }
  return {
    nodeBudget: parseDuration(nodeBudget, 'nodeBudget', nodeBounds),
    drift,
    fenced: checkBoolean(fence, 'fence'),
  }
}

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkNodes(stores: unknown): readonly Store[] {
  const refuse = (value: unknown, problem: string, remedy: string, option = 'stores'): never => {
    throw new InvalidArgumentError(option, value, { problem, remedy })
  }
  if (!Array.isArray(stores))
    return refuse(
      stores,
      'is not a list of stores',
      'Give three or five, as [redisStore(a), redisStore(b), redisStore(c)].',
    )
  if (stores.length === 0) return refuse(stores, 'is empty', 'Give three or five stores.')
  if (stores.length === 1)
    return refuse(
      'one store',
      'is no quorum',
      'Give three or five stores, or this one to createHoldfast itself.',
    )
  if (stores.length > bounds.maxNodes)
    return refuse(`${stores.length} stores`, `are more than ${bounds.maxNodes}`, 'Five outlive two failures.')
  for (const [i, store] of stores.entries()) {
    if (typeof (store as Partial<Store> | null)?.open !== 'function')
      refuse(
        store,
        'is not a store',
        'Give redisStore(client); a client itself is not a store.',
        `stores[${i}]`,
      )
    if (stores.indexOf(store) !== i)
      refuse(`stores[${stores.indexOf(store)}]`, 'is there twice', 'Give each server once.', `stores[${i}]`)
    if ((store as Store).kind === 'quorum')
      refuse('a quorum', 'cannot be a node of a quorum', 'Give its nodes.', `stores[${i}]`)
  }
  return stores as readonly Store[]
}
