/** A process that waits for locks, to be stopped and killed like a real one. */

import { createHoldfast, type Holdfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { connectClient } from '../../src/clients.ts'
import { serveWorker, tell } from '../../src/servers/worker-side.ts'

/** One turn of a loop: the fence tells its place among the turns of all processes. */
export interface Turn {
  /** In digits. */
  readonly fence: string
  /** Milliseconds on the clock that all processes of this machine share. */
  readonly begun: number
  readonly ended: number
}

let instances: Holdfast[] = []

const now = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

serveWorker({
  /** Opens so many instances over one client. */
  async open(url: string, prefix: string, count: number) {
    const { client } = await connectClient('ioredis', url)
    instances = Array.from({ length: count }, () => createHoldfast({ store: redisStore(client), prefix }))
  },
  /** Begins so many waits on each instance; each tells `in` when it has the lock, and gives it back after a while. */
  wait(name: string, each: number, holdMs: number) {
    for (const hf of instances) {
      for (let i = 0; i < each; i += 1) {
        hf.lock(name, { wait: '5m', ttl: '1m' })
          .run(async () => {
            tell('in', now())
            await pass(holdMs)
          })
          .catch((error: Error) => tell('failed', error.message))
      }
    }
  },
  /** Takes and gives back a lock again and again. */
  async loop(name: string, turns: number, workMs: number): Promise<Turn[]> {
    const lock = (instances[0] as Holdfast).lock(name, { wait: '1m' })
    const seen: Turn[] = []
    for (let turn = 0; turn < turns; turn += 1) {
      await lock.run(async ({ fence }) => {
        const begun = now()
        await pass(workMs)
        seen.push({ fence: String(fence), begun, ended: now() })
      })
    }
    return seen
  },
})
