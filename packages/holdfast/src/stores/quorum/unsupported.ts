import { InvalidArgumentError } from '../../errors.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { LimitStore } from '../../store/limit/contract.ts'
import type { OnceStore } from '../../store/once/contract.ts'

/** A count, or a record of what was done, cannot be kept by a majority vote of servers that do not know of each other. */
export const noLimits: LimitStore = {
  take: () => refuse('limits'),
  peek: () => refuse('limits'),
  adjust: () => refuse('limits'),
  renew: () => refuse('limits'),
  reset: () => refuse('limits'),
  block: () => refuse('limits'),
}

export const noOnce: OnceStore = {
  claim: () => refuse('idempotency'),
  renew: () => refuse('idempotency'),
  complete: () => refuse('idempotency'),
  free: () => refuse('idempotency'),
  settle: () => refuse('idempotency'),
  inspect: () => refuse('idempotency'),
}

function refuse(what: string): Promise<never> {
  const cause = new InvalidArgumentError('store', 'quorumStore(…)', {
    problem: `has locks only, no ${what}`,
    remedy: `Use createHoldfast({ store }) with one of the servers, or a database, for ${what}.`,
  })
  const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'unsupported', cause } as const
  return Promise.reject(new StoreFailure(cause.message, parts))
}
