import { expect, test } from 'vitest'
import { memoryStore } from '../stores/memory/index.ts'
import { limitStoreContract } from './limit-store-contract.ts'
import { lockStoreContract, type LockStoreBench } from './lock-store-contract.ts'
import { onceStoreContract } from './once-store-contract.ts'
import { seededRandomness } from './seeded-randomness.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Goal: whoever writes a store is told what is wrong with the bench, or with the store, and not what follows from that. */

const { traits } = memoryStore()
const loose = (value: unknown): never => value as never

function bench(parts: Partial<LockStoreBench> = {}): LockStoreBench {
  const clock = new VirtualClock()
  const store = memoryStore()
  return {
    clock,
    randomness: seededRandomness(1),
    prefix: 'contract:v1',
    unit: 100,
    connect: async () => store,
    pass: (ms) => clock.advance(ms),
    end: async () => {},
    ...parts,
  }
}

test.each([
  ['lockStoreContract.setUp', () => lockStoreContract(loose({ traits }))],
  ['lockStoreContract.setUp', () => lockStoreContract(loose(undefined))],
  ['lockStoreContract.traits', () => lockStoreContract(loose({ setUp: bench }))],
  ['lockStoreContract.put', () => lockStoreContract(loose({ traits, setUp: bench, put: true }))],
  ['limitStoreContract.setUp', () => limitStoreContract(loose({}))],
  ['limitStoreContract.key', () => limitStoreContract(loose({ setUp: bench, key: async () => [] }))],
  ['onceStoreContract.setUp', () => onceStoreContract(loose({ setUp: 5 }))],
])('a wrong %s is refused by its name, before any case runs', (option, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', option }))
})

test.each([0, 9, NaN, undefined])('a unit of %s is refused, and the bench is ended', async (unit) => {
  let ended = 0
  const setUp = async () => bench({ unit: loose(unit), end: async () => void (ended += 1) })
  const [first] = limitStoreContract({ setUp })
  await expect(first?.run()).rejects.toMatchObject({ option: 'unit' })
  expect(ended).toBe(1)
})

test('a store that neither works nor closes: the case says what did not work, and the bench is ended', async () => {
  let ended = 0
  const store = memoryStore()
  const broken = {
    ...store,
    open: (context: never) => {
      const opened = store.open(context)
      return {
        ...opened,
        limits: { ...opened.limits, peek: () => Promise.reject(new Error('it does not work')) },
        close: () => Promise.reject(new Error('it does not close')),
      }
    },
  }
  const setUp = async () => bench({ connect: async () => loose(broken), end: async () => void (ended += 1) })
  for (const { run } of limitStoreContract({ setUp }).slice(0, 3)) {
    await expect(run()).rejects.toThrow(/^(?!.*it does not close)/)
  }
  expect(ended).toBe(3)
})
