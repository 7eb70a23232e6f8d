import { IdempotencyInProgressError, type Holdfast } from 'holdfast'
import type { Answer } from './checkout.ts'

/** What a channel tells us: the customer has agreed to pay. Channels repeat it until they get an answer. */
export interface Callback {
  /** The channel's own id of this message: repeats have the same. */
  readonly id: string
  readonly order: string
}

export type Handle = (order: string, channel: string) => Promise<Answer>

/**
 * Handles each callback once, and gives repeats the first one's answer.
 *
 * A runner that dies frees the callback (`onAbandoned: 'retry'`), since to pay is safe to repeat. "In progress" is no answer to
 * keep: the next repeat looks again.
 */
export function callbacksOnce(holdfast: Holdfast, handle: Handle, lease: number) {
  const callbacks = holdfast.idempotency('callbacks', {
    lease,
    onAbandoned: 'retry',
    isFinal: (outcome) => 'value' in outcome && outcome.value !== 'in-progress',
  })
  return async ({ id, order }: Callback, channel: string): Promise<Answer> => {
    try {
      const options = { fingerprint: { order } }
      return (await callbacks.run({ key: id, scope: channel }, options, () => handle(order, channel))).value
    } catch (error) {
      if (error instanceof IdempotencyInProgressError) return 'in-progress'
      throw error
    }
  }
}
