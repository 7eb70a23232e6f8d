import type { Clock, Randomness } from '../clock.ts'
import type { Store } from '../store/contract.ts'
import type { ContractCase } from './lock-store-contract.ts'
import { kindCases } from './limit-contract-kinds.ts'
import { LimitScene, type LimitDoors } from './limit-contract-scene.ts'
import { subjectCases } from './limit-contract-subjects.ts'
import { timeCases } from './limit-contract-times.ts'
import { runAndEnd } from './contract-ending.ts'
import { checkContract, checkUnit } from './contract-options.ts'

/** What one case works with: a store that nobody used before, or a prefix of its own on one that others use. */
export interface LimitStoreBench {
  /** What the store is opened with. */
  readonly clock: Clock
  readonly randomness: Randomness
  /** Starts every key of the case. */
  readonly prefix: string
  /**
   * Milliseconds, at least 10. Windows of the suite last a few of them. The smaller it is, the faster the suite and the more
   * a slow machine shows as a failure; 50 suits real stores.
   */
  readonly unit: number
  /** The store over a connection of its own, as another process would have it. Called several times in a case. */
  connect(): Promise<Store>
  /** Lets time pass by the clock of the store and by `clock`: so much of it where it can be told to stand still, else at least. */
  pass(ms: number): Promise<void>
  /** Takes everything down. */
  end(): Promise<void>
}

/**
 * How the suite reaches a store. The optional functions are doors behind the store's back; a store that has such a door
 * must show it, or the cases that need it do not run.
 */
export interface LimitStoreContractOptions<B extends LimitStoreBench = LimitStoreBench> {
  /** Makes what one case works with. */
  setUp(): Promise<B>
  /** Every key of limits under the bench's prefix that counts still; the answers that are kept for calls asked again are none. */
  keys?(bench: B): Promise<readonly string[]>
  /** Every key under the bench's prefix that has no expiry. */
  keysWithoutExpiry?(bench: B): Promise<readonly string[]>
}

/**
 * The demands that every store of limits must meet, as cases for whatever runs your tests:
 *
 * ```ts
 * for (const { name, run } of limitStoreContract(options)) test(name, run)
 * ```
 *
 * Which cases there are follows from the doors that were given. They may run at the same time as each other. On a virtual
 * clock they take milliseconds; on a real store a few seconds each, since windows have to end.
 */
export function limitStoreContract<B extends LimitStoreBench>(
  options: LimitStoreContractOptions<B>,
): readonly ContractCase[] {
  checkContract(options, { contract: 'limitStoreContract', doors: ['keys', 'keysWithoutExpiry'] })
  const has: Record<keyof LimitDoors, boolean> = {
    keys: options.keys !== undefined,
    keysWithoutExpiry: options.keysWithoutExpiry !== undefined,
  }
  const cases = [...kindCases, ...subjectCases, ...timeCases]
  return cases
    .filter(({ needs }) => needs === undefined || needs(has))
    .map(({ name, run }) => ({
      name,
      run: async () => {
        const bench = await checkUnit(await options.setUp())
        const scene = new LimitScene(bench, {
          keys: async () => (await options.keys?.(bench)) ?? [],
          keysWithoutExpiry: async () => (await options.keysWithoutExpiry?.(bench)) ?? [],
        })
        await runAndEnd(
          () => run(scene),
          () => scene.end(),
        )
      },
    }))
}
