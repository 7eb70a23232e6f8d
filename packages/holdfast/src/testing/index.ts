export { VirtualClock } from './virtual-clock.ts'
export { seededRandomness } from './seeded-randomness.ts'
export { lockStoreContract } from './lock-store-contract.ts'
export type { ContractCase, LockStoreBench, LockStoreContractOptions } from './lock-store-contract.ts'
