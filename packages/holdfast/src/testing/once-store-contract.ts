import type { Clock, Randomness } from '../clock.ts'
import type { Store } from '../store/contract.ts'
import type { ContractCase } from './lock-store-contract.ts'
import { abandonedCases, recordCases, runCases } from './once-contract-cases.ts'
import { OnceScene, type OnceDoors } from './once-contract-scene.ts'
import { runAndEnd } from './contract-ending.ts'
import { checkContract, checkUnit } from './contract-options.ts'

/** What one case works with: a store that nobody used before, or a prefix of its own on one that others use. */
export interface OnceStoreBench {
  /** What the store is opened with. */
  readonly clock: Clock
  readonly randomness: Randomness
  /** Starts every key of the case. */
  readonly prefix: string
  /** Milliseconds, at least 10. Leases of the suite last a few of them; 100 suits real stores. */
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
export interface OnceStoreContractOptions<B extends OnceStoreBench = OnceStoreBench> {
  /** Makes what one case works with. */
  setUp(): Promise<B>
  /** Every key under the bench's prefix that has no expiry. */
  keysWithoutExpiry?(bench: B): Promise<readonly string[]>
  /** Deletes a key. */
  remove?(bench: B, key: string): Promise<void>
}

/**
 * The demands that every store of what runs once must meet, as cases for whatever runs your tests:
 *
 * ```ts
 * for (const { name, run } of onceStoreContract(options)) test(name, run)
 * ```
 *
 * Which cases there are follows from the doors that were given. They may run at the same time as each other. On a virtual
 * clock they take milliseconds; on a real store about a second each, since leases have to end.
 */
export function onceStoreContract<B extends OnceStoreBench>(
  options: OnceStoreContractOptions<B>,
): readonly ContractCase[] {
  checkContract(options, { contract: 'onceStoreContract', doors: ['keysWithoutExpiry', 'remove'] })
  return [...runCases, ...abandonedCases, ...recordCases]
    .filter(({ needs }) => needs === undefined || options[needs] !== undefined)
    .map(({ name, run }) => ({
      name,
      run: async () => {
        const bench = await checkUnit(await options.setUp())
        const doors: OnceDoors = {
          keysWithoutExpiry: async () => (await options.keysWithoutExpiry?.(bench)) ?? [],
          remove: async (key) => options.remove?.(bench, key),
        }
        const scene = new OnceScene(bench, doors)
        await runAndEnd(
          () => run(scene),
          () => scene.end(),
        )
      },
    }))
}
