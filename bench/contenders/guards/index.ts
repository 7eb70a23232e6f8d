import type { GuardKind } from './guard.ts'
import { holdfastGuard } from './holdfast.ts'
import { plainUpdate } from './plain.ts'

/** All that write to a row, by the names that reports use. */
export const guards = {
  'holdfast guard': holdfastGuard,
  'plain UPDATE': plainUpdate,
} satisfies Record<string, GuardKind>

export type GuardName = keyof typeof guards
