import { InvalidArgumentError } from '../../errors.ts'

/**
 * What every client of Redis is refused for.
 *
 * @param does what the client does with its `keyPrefix`
 * @throws InvalidArgumentError when there is one
 */
export function refuseKeyPrefix(keyPrefix: unknown, does: string): void {
  if (keyPrefix === undefined || keyPrefix === null || keyPrefix === '') return
  throw new InvalidArgumentError('client.keyPrefix', keyPrefix, {
    problem: `${does}, so that locks would lie elsewhere than you think`,
    remedy: "Give a client without keyPrefix, and the prefix as createHoldfast({ prefix: 'shop:v1' }).",
  })
}

/** A client of ioredis' make that was closed. @param what it is, with its article */
export function isClosed(what: string): InvalidArgumentError {
  return new InvalidArgumentError('client', what, {
    problem: 'is closed (status "end")',
    remedy: 'Give a client that is connected or connecting, and close it after hf.close().',
  })
}

/** A client of node-redis' make that is not open. @param what it is, with its article */
export function isNotOpen(what: string): InvalidArgumentError {
  return new InvalidArgumentError('client', what, {
    problem: 'is closed, or was never connected',
    remedy: 'Call `await client.connect()` before the first lock, and close the client after hf.close().',
  })
}
