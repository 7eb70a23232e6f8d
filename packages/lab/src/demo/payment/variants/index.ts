import type { HandleCallback, Till } from '../till.ts'
import { bareDel } from './bare-del.ts'
import { holdfastFull } from './holdfast-full.ts'
import { holdfastOnly } from './holdfast.ts'

/** Every way to handle the callbacks, from the worst to the best. */
export const paymentVariants = {
  'bare-del': bareDel,
  holdfast: holdfastOnly,
  'holdfast-full': holdfastFull,
} as const satisfies Record<string, (till: Till) => HandleCallback>

export type PaymentVariant = keyof typeof paymentVariants
