import { holdfastOnce } from './holdfast.ts'
import type { OnceKind } from './once.ts'
import { twoScripts } from './scripts.ts'

/** All that run work once, by the names that reports use. */
export const onces = {
  'holdfast idempotency': holdfastOnce,
  'two script calls': twoScripts,
} satisfies Record<string, OnceKind>

export type OnceName = keyof typeof onces
