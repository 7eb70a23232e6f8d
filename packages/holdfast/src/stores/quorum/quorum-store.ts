import type { Randomness } from '../../clock.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { OpenStore, Store, StoreContext, StoreTraits } from '../../store/contract.ts'
import { newProcessName } from '../../store/owner.ts'
import { majorityOf } from './majority.ts'
import { checkNodes, checkQuorumOptions, type QuorumOptions } from './options.ts'
import { Quorum, type QuorumTerms } from './quorum.ts'
import { QuorumLockStore } from './quorum-lock-store.ts'
import { nodeFindings } from './node-findings.ts'
import { noLimits, noOnce } from './unsupported.ts'

/** From the least to the most. */
const DURABLE = ['process', 'disk', 'server'] as const

/**
 * Locks on a majority of independent servers: a lock is held while more than half of the nodes say so. A minority of them may be
 * down, slow or cut off. No limits and no idempotency.
 *
 * Costs: one round to all nodes to acquire, one to renew, one to release; with `fence` two to acquire. The grant is there when the
 * majority has answered. Each node's own store gathers what goes to it.
 *
 * Promises under failure: at most one holder, as long as no node forgets a grant before its time (a restart without its data, a
 * failover, an eviction, a clock stepped forward) or is kept from granting until leases from before that are over, and no clock
 * gains more than `drift` on another within a lease. A grant whose time has passed is never returned, and what single nodes had
 * granted is given back, or expires. With `fence` fences rise also when leases end too soon on some nodes; when a node forgets,
 * they rise as long as the nodes' clocks agree to within the gap between the two grants. Without it a hold has no fence worth the
 * name, and guards refuse it.
 *
 * Source: Redlock, with the rules of docs/quorum.md.
 *
 * @param stores three or five, as `redisStore(client)`, each of a server of its own; an even number outlives no more failures
 *   than one less, and is warned of
 * @throws InvalidArgumentError that names option, value and remedy. Two clients of one server are found at first use: that
 *   acquire rejects
 */
export function quorumStore(stores: readonly Store[], options: QuorumOptions = {}): Store {
  const nodes = checkNodes(stores)
  const terms = checkQuorumOptions(options)
  if (nodes.length % 2 === 0) warnOfEven(nodes.length)
  return {
    kind: 'quorum',
    traits: traitsOf(nodes, terms),
    open: (context) => openQuorum(nodes, terms, context),
  }
}

function traitsOf(nodes: readonly Store[], { fenced }: QuorumTerms): StoreTraits {
  const traits = nodes.map((node) => node.traits)
  return {
    fences: fenced ? 'clocked' : 'none',
    wake: traits.every(({ wake }) => wake === 'push') ? 'push' : 'poll',
    clock: traits.some(({ clock }) => clock === 'server') ? 'server' : 'machine',
    durable: DURABLE.find((level) => traits.some(({ durable }) => durable === level)) ?? 'process',
  }
}

function openQuorum(stores: readonly Store[], terms: QuorumTerms, context: StoreContext): OpenStore {
  const process = newProcessName(context.randomness)
  const opened = stores.map((store) =>
    store.open({ ...context, randomness: namingOnce(context.randomness, process) }),
  )
  const nodes = opened.map(({ locks }) => locks)
  if (terms.fenced) {
    const without = nodes.findIndex((node) => node.raise === undefined)
    if (without >= 0) {
      void closeAll(opened)
      throw cannotRaise(without, stores[without]?.kind ?? '')
    }
  }
  const quorum = new Quorum(nodes, terms, context.clock, context.randomness)
  const locks = new QuorumLockStore(process, quorum)
  return {
    locks,
    lacks: ['limits', 'idempotency'],
    limits: noLimits,
    once: noOnce,
    check: (budget) => nodeFindings(opened, budget),
    close: async () => {
      await locks.close()
      await closeAll(opened)
    },
  }
}

/** Never rejects. */
function closeAll(nodes: readonly OpenStore[]): Promise<unknown> {
  return Promise.allSettled(nodes.map((node) => node.close()))
}

/** The nodes' openings carry the name of the whole: a forced release finds its holder by the owner, which begins with it. */
function namingOnce(randomness: Randomness, process: string): Randomness {
  let named = false
  return {
    fraction: () => randomness.fraction(),
    id: (length) => {
      if (named || length !== process.length) return randomness.id(length)
      named = true
      return process
    },
  }
}

function cannotRaise(node: number, kind: string): InvalidArgumentError {
  return new InvalidArgumentError('fence', true, {
    problem: `is set, but stores[${node}] (${kind}) cannot take part in fences of a quorum`,
    remedy: 'Use redisStore for every node, or leave fence out.',
  })
}

function warnOfEven(nodes: number): void {
  const majority = majorityOf(nodes)
  process.emitWarning(
    `A quorum of ${nodes} nodes needs ${majority} of them, and outlives no more failures than one of ${nodes - 1}.`,
    {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_EVEN_QUORUM',
      detail: 'Give quorumStore an odd number of nodes: three, or five.',
    },
  )
}
