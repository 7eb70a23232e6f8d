import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMysql, type MysqlServer } from '../../src/index.ts'
import { RawLocks } from '../postgres/raw-locks.ts'
import { connectStore } from './support.ts'

/**
 * Goal: fences rise in the order of grants. Method: eight clients, each with connections of its own, take and give back locks that they
 * all want, as fast as they can. A grant is noted when its answer comes; the next one of that name cannot be before its release.
 */

const CLIENTS = 8
const NAMES = 160
const AT_ONCE = 64
const GRANTS = 20_000

let server: MysqlServer

beforeAll(async () => {
  server = await startMysql()
  const { store, close } = await connectStore('promise pool', server.url)
  await store.migrate()
  await close()
})
afterAll(() => server.stop())

test('eight clients, 20 000 grants: no fence falls in the order of grants, and no lock has two holders', async () => {
  const clients = await Promise.all(
    Array.from(
      { length: CLIENTS },
      async () => new RawLocks(await connectStore('promise pool', server.url), 'fences:v1'),
    ),
  )
  const grants = Array.from({ length: NAMES }, () => [] as bigint[])
  const holders = new Map<number, string>()
  const faults: string[] = []
  let count = 0
  const work = async (client: RawLocks, seat: number): Promise<void> => {
    for (let turn = 0; count < GRANTS; turn += 1) {
      const wanted = Array.from({ length: AT_ONCE }, (_, i) => (seat * 17 + turn * 29 + i) % NAMES)
      const asked = wanted.map(async (name) => {
        const owner = client.owner()
        // A busy machine may be too slow for the bounds: then nothing is known of this one, and another is asked.
        const result = await client.acquire(String(name), owner).catch(() => null)
        if (result?.kind !== 'granted') return
        if (holders.has(name))
          faults.push(`${name} was granted to ${owner} while ${holders.get(name)} held it`)
        holders.set(name, owner)
        grants[name]?.push(result.fence)
        count += 1
        await Promise.resolve()
        holders.delete(name)
        const release = (): Promise<unknown> => client.release(String(name), owner).catch(() => null)
        while ((await release()) === null);
      })
      await Promise.all(asked)
    }
  }
  await Promise.all(clients.map(work))
  await Promise.all(clients.map((client) => client.close()))

  const inversions = grants.flatMap((fences) =>
    fences.filter((fence, i) => i > 0 && fence <= (fences[i - 1] ?? 0n)).map(String),
  )
  expect(inversions).toEqual([])
  expect(faults).toEqual([])
  expect(count).toBeGreaterThanOrEqual(GRANTS)
})
