/**
 * A script that uses locks and then ends by having nothing left to do. It writes one line: how long that took after its
 * last line, in milliseconds, and what its last step came to.
 */

import { createHoldfast, type Holdfast } from 'holdfast'
import { sleep } from '../wait.ts'
import { openStore, type OpenedStore, type StoreName } from './stores.ts'

const [what = '', store = '{}'] = process.argv.slice(2)
const name = JSON.parse(store) as StoreName

type Step = (hf: Holdfast, opened: OpenedStore) => Promise<unknown>

const steps: Record<string, Step> = {
  /** Acquires, holds for long enough to renew and to listen, releases and closes. */
  async cycle(hf) {
    const held = await hf.lock('exits', { ttl: 600 }).acquire()
    await sleep(400)
    const outcome = await held.release()
    await hf.close()
    return outcome
  },
  /** The same, and never closes. */
  async forgetful(hf) {
    const held = await hf.lock('exits', { ttl: 600 }).acquire()
    await sleep(400)
    return held.release()
  },
  /** Acquires, and ends while it holds. */
  async holding(hf) {
    const held = await hf.lock('exits', { ttl: '60s', maxHold: '120s' }).acquire()
    await sleep(400)
    return held.lost
  },
  /** Holds a lock itself, and waits for it as another. */
  async waiting(hf, opened) {
    await hf.lock('exits', { ttl: '60s' }).acquire()
    const other = createHoldfast({ store: opened.store })
    // Nothing but the wait is left to keep the process alive.
    unref(opened)
    const began = performance.now()
    const end: unknown = await other
      .lock('exits', { wait: 1_200 })
      .acquire()
      .catch((error: { code: string }) => error.code)
    return { end, waited: performance.now() - began }
  },
}

function unref({ client }: OpenedStore): void {
  const { stream } = (client?.client ?? {}) as { stream?: { unref(): void } }
  stream?.unref()
}

const opened = await openStore(name)
const outcome = await steps[what]?.(createHoldfast({ store: opened.store }), opened)
opened.close()
const last = performance.now()
process.on('exit', () => {
  process.stdout.write(JSON.stringify({ ms: performance.now() - last, outcome }))
})
