/** A process that takes from limits, many at once. */

import { redisStore } from 'holdfast/redis'
import { systemClock, systemRandomness } from 'holdfast/testing'
import { limitAddress } from '../../../holdfast/src/name.ts'
import { Attempt } from '../../../holdfast/src/store/attempt.ts'
import type { LimitStore } from '../../../holdfast/src/store/limit/contract.ts'
import type { Policy } from '../../../holdfast/src/store/limit/policy.ts'
import { connectClient } from '../../src/clients.ts'
import { serveWorker } from '../../src/servers/worker-side.ts'

const BUDGET_MS = 10_000

let limits: LimitStore
let prefix: string

async function open(url: string, given: string): Promise<void> {
  const { client } = await connectClient('ioredis', url)
  prefix = given
  limits = redisStore(client).open({
    clock: systemClock,
    randomness: systemRandomness,
    prefixes: [prefix],
  }).limits
}

/** How many of so many takes in one turn were admitted. */
async function takeMany(subject: string, policy: Policy, count: number): Promise<number> {
  const until = systemClock.monotonic() + BUDGET_MS
  const answers = await Promise.all(
    Array.from({ length: count }, () =>
      limits.take(
        {
          address: limitAddress(prefix, 'api', subject),
          policies: [policy],
          cost: 1,
          id: systemRandomness.id(22),
          countDenied: false,
          returnAfter: null,
        },
        new Attempt(until, until),
      ),
    ),
  )
  return answers.filter(({ result }) => result.kind === 'decided' && result.allowed).length
}

serveWorker({ open, takeMany })
