/** A process that takes several names at once, to be killed like a real one. */

import { createHoldfast, type Holdfast } from 'holdfast'
import { openStore, type StoreName } from '../../src/workers/stores.ts'
import { serveWorker, tell } from '../../src/servers/worker-side.ts'

let hf: Holdfast
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const now = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000

serveWorker({
  async open(store: StoreName, prefix: string) {
    hf = createHoldfast({ store: (await openStore(store)).store, prefix })
  },
  /** Takes the names so many times, each time for a moment. Answers with when it had them, and with which fences. */
  async turns(names: string[], times: number) {
    const turns: { begun: number; ended: number; fences: string[] }[] = []
    for (let i = 0; i < times; i += 1) {
      await hf.lockAll(names, { wait: '60s' }).run(async (held) => {
        const begun = now()
        await pass(1)
        const fences = names.toSorted().map((name) => String(held.fences[name]))
        turns.push({ begun, ended: now(), fences })
      })
    }
    return turns
  },
  /** Takes them and keeps them. */
  async hold(names: string[], ttl: number) {
    await hf.lockAll(names, { ttl }).acquire()
    tell('held')
  },
})
