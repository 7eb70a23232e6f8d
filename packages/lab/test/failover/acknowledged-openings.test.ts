import { createHoldfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { afterEach, expect, test } from 'vitest'
import { clientKinds, connectClient } from '../../src/clients.ts'
import { startReplicaSet, type ReplicaSet, type TcpProxy } from '../../src/index.ts'

/**
 * Goal: connections for acknowledged calls that were begun towards a machine that is gone without a word (33) keep nobody from the one that
 * answers.
 * Method: new connections are accepted and never answered, until as many have begun as there may be; then the address leads on, and those
 * stay open and silent.
 */

let set: ReplicaSet | undefined
const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await set?.stop()
})

test.each([
  ['after a while', 50_000, async () => undefined],
  // Before that while is over.
  ['as soon as the client itself has a new connection', 9_000, async (door: TcpProxy) => resetThose(door)],
])('connections that nobody answers are given up: %s', { timeout: 60_000 }, async (_when, wait, then) => {
  set = await startReplicaSet({ replicas: 1 })
  const { door } = set
  const opened = await Promise.all(
    clientKinds.map(async (kind) => {
      const { client, close } = await connectClient(kind, door.url)
      ends.push(close)
      const store = redisStore(client, { acknowledge: { replicas: 1, of: 1 } })
      const hf = createHoldfast({ prefix: `openings-${kind}`, budget: '900ms', store })
      ends.push(() => hf.close())
      return hf
    }),
  )
  await door.acceptSilently()
  await Promise.all(
    opened.map(async (hf) => {
      const asked = Array.from({ length: 6 }, (_, i) => hf.lock(`a${i}`).tryAcquire().then(String, String))
      for (const came of await Promise.all(asked)) expect(came).toContain('StoreUnavailableError')
    }),
  )
  await door.accept()
  await then(door)
  await Promise.all(
    opened.map(async (hf) => {
      const held = await hf.lock('b', { wait }).acquire()
      expect((await held.release()).released).toBe(true)
    }),
  )
})

/** The connections that are served; the silent ones stay. */
function resetThose(door: TcpProxy): void {
  for (const connection of door.connections) connection.reset()
}
