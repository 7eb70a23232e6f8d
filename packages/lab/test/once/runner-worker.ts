/** A process that runs works once: to be asked for many at a time, and to be killed in the midst of one. */

import {
  createHoldfast,
  isHoldfastError,
  type Holdfast,
  type Idempotency,
  type IdempotencyOptions,
} from 'holdfast'
import { appendFileSync } from 'node:fs'
import { serveWorker, tell } from '../../src/servers/worker-side.ts'
import { sleep } from '../../src/wait.ts'
import { openStore, type StoreName } from '../../src/workers/stores.ts'

/** How a call ended: the value and whether it was a replay, or the error's code. */
export type Ended = { readonly value: string; readonly replayed: boolean } | { readonly code: string }

let hf: Holdfast
let payments: Idempotency
let effects: string

async function open(
  name: StoreName,
  prefix: string,
  file: string,
  options: IdempotencyOptions,
): Promise<void> {
  const { store } = await openStore(name)
  hf = createHoldfast({ store, prefix, budget: '5s' })
  payments = hf.idempotency('payments', { budget: '5s', ...options })
  effects = file
}

/** So many calls of one key at once. The effect is a line in a file; it takes `ms`. */
async function pay(key: string, count: number, ms: number, wait: number): Promise<Ended[]> {
  const call = async (): Promise<Ended> => {
    try {
      return await payments.run(
        { key, scope: 'user' },
        { wait, fingerprint: { key } },
        async ({ attempt }) => {
          appendFileSync(effects, `${key} ${attempt} ${process.pid}\n`)
          tell('paying', { key, attempt })
          await sleep(ms)
          return `paid by ${process.pid}`
        },
      )
    } catch (error) {
      return { code: isHoldfastError(error) ? error.code : String(error) }
    }
  }
  return Promise.all(Array.from({ length: count }, call))
}

async function settle(key: string, value: string): Promise<boolean> {
  return (await payments.settle({ key, scope: 'user' }, { value })).settled
}

async function close(): Promise<void> {
  await hf.close()
}

serveWorker({ open, pay, settle, close })
