import type { Clock, Randomness } from '../clock.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { Store, StoreTraits } from '../store/contract.ts'
import { boundCases } from './contract-bounds.ts'
import { fenceCases } from './contract-fences.ts'
import { groupCases } from './contract-groups.ts'
import { leaseCases } from './contract-leases.ts'
import { queueCases } from './contract-queue.ts'
import { Scene } from './contract-scene.ts'
import { takenCases } from './contract-taken.ts'
import { runAndEnd } from './contract-ending.ts'
import { checkContract, checkUnit } from './contract-options.ts'

/** One demand of a contract. `run` rejects when the store does not meet it. */
export interface ContractCase {
  readonly name: string
  readonly run: () => Promise<void>
}

/** What one case works with: a store that nobody used before, or a prefix of its own on one that others use. */
export interface LockStoreBench {
  /** What the store is opened with. */
  readonly clock: Clock
  readonly randomness: Randomness
  /** Starts every key of the case. */
  readonly prefix: string
  /**
   * Milliseconds, at least 10. Leases of the suite last a few of them, and what is told of time may be off by one. The
   * smaller it is, the faster the suite and the more a slow machine shows as a failure; 50 suits real stores.
   */
  readonly unit: number
  /** The store over a connection of its own, as another process would have it. Called several times in a case. */
  connect(): Promise<Store>
  /** Lets time pass by the clock of the store and by `clock`. */
  pass(ms: number): Promise<void>
  /** Takes everything down. */
  end(): Promise<void>
}

/**
 * How the suite reaches a store. The optional functions are doors behind the store's back; a store that has such a door
 * must show it, or the cases that need it do not run.
 */
export interface LockStoreContractOptions<B extends LockStoreBench = LockStoreBench> {
  /** The traits of the stores that `connect` gives. */
  readonly traits: StoreTraits
  /** Makes what one case works with. */
  setUp(): Promise<B>
  /** Removes whatever lies at a key (of a lock, or of the last fence), as an operator or an eviction would. */
  remove?(bench: B, key: string): Promise<void>
  /** Writes a value at the key of a lock as another software would, with an expiry in milliseconds or with none. */
  put?(bench: B, key: string, value: string, ttl: number | null): Promise<void>
  /** Every key under the bench's prefix that has no expiry, other than the last fence's of a store that keeps it for ever. */
  keysWithoutExpiry?(bench: B): Promise<readonly string[]>
}

/**
 * The demands that every store of locks must meet, as cases for whatever runs your tests:
 *
 * ```ts
 * for (const { name, run } of lockStoreContract(options)) test(name, run)
 * ```
 *
 * Which cases there are follows from the traits and from the doors that were given. They may run at the same time as each
 * other. On a virtual clock they take milliseconds; on a real store up to ten seconds each, since waiters have to die.
 */
export function lockStoreContract<B extends LockStoreBench>(
  options: LockStoreContractOptions<B>,
): readonly ContractCase[] {
  checkContract(options, {
    contract: 'lockStoreContract',
    others: ['traits'],
    doors: ['remove', 'put', 'keysWithoutExpiry'],
  })
  if (Object(options.traits) !== options.traits) {
    throw new InvalidArgumentError('lockStoreContract.traits', options.traits, {
      problem: 'are no traits of a store',
      remedy: 'Give the `traits` of the store that `connect` gives.',
    })
  }
  const doors = {
    remove: options.remove !== undefined,
    put: options.put !== undefined,
    keysWithoutExpiry: options.keysWithoutExpiry !== undefined,
  }
  const cases = [...leaseCases, ...takenCases, ...fenceCases, ...queueCases, ...boundCases, ...groupCases]
  return cases
    .filter(({ needs }) => needs === undefined || needs(options.traits, doors))
    .map(({ name, run }) => ({
      name,
      run: async () => {
        const bench = await checkUnit(await options.setUp())
        const scene = new Scene(bench, options.traits, {
          remove: async (key) => options.remove?.(bench, key),
          put: async (key, value, ttl) => options.put?.(bench, key, value, ttl),
          keysWithoutExpiry: async () => (await options.keysWithoutExpiry?.(bench)) ?? [],
        })
        await runAndEnd(
          () => run(scene),
          () => scene.end(),
        )
      },
    }))
}
