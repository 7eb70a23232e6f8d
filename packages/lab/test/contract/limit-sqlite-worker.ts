import Database from 'better-sqlite3'
import { sqliteStore } from 'holdfast/sqlite'
import { Attempt, limitAddress, systemClock, systemRandomness } from 'holdfast/testing'
import { serveWorker } from '../../src/servers/worker-side.ts'
import { LIMITER, policies, PREFIX } from './limit-sqlite-policies.ts'

const BUDGET_MS = 30_000

/** Takes so many at once, of the subject that is named like the kind. Tells how many were admitted. */
async function takes(dir: string, kind: string, count: number): Promise<number> {
  const database = new Database(`${dir}/limits.db`)
  const store = sqliteStore(database).open({
    clock: systemClock,
    randomness: systemRandomness,
    prefixes: [PREFIX],
  })
  const until = systemClock.monotonic() + BUDGET_MS
  const answers = await Promise.all(
    Array.from({ length: count }, () =>
      store.limits.take(
        {
          address: limitAddress(PREFIX, LIMITER, kind),
          policies: policies(5).filter((policy) => policy.kind === kind),
          cost: 1,
          id: systemRandomness.id(22),
          countDenied: false,
          returnAfter: null,
        },
        new Attempt(until, until),
      ),
    ),
  )
  await store.close()
  database.close()
  return answers.filter(({ result }) => result.kind === 'decided' && result.allowed).length
}

serveWorker({ takes })
