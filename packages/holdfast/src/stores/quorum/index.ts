export { quorumStore } from './quorum-store.ts'
export type { QuorumOptions } from './options.ts'
