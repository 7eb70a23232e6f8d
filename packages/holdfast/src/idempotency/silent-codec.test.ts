import { afterEach, beforeEach, expect, test } from 'vitest'
import { OnceBench } from '../testing/once-bench.ts'

/** Goal: a codec that does not come to an end (a key service that is down) holds up nobody who has gone. */

const ask = { key: 'order-1', scope: 'user-1' }
const codec = {
  encode: (value: unknown) => JSON.stringify(value),
  decode: () => new Promise<never>(() => undefined),
}

let bench: OnceBench

beforeEach(async () => {
  bench = new OnceBench()
  await bench.other.idempotency('payments').run(ask, undefined, () => 'paid')
})
afterEach(() => bench.close())

test('a caller that aborts while its outcome is decoded is told its reason', async () => {
  const gone = new AbortController()
  const replay = bench.hf
    .idempotency('payments', { codec })
    .run(ask, { signal: gone.signal }, () => 'again')
    .catch((error: unknown) => error)
  await bench.clock.settle()
  gone.abort('gone')
  expect(await replay).toBe('gone')
})

test('so is one that waits when everything is closed', async () => {
  const replay = bench.hf
    .idempotency('payments', { codec })
    .run(ask, undefined, () => 'again')
    .catch((error: unknown) => error)
  await bench.clock.settle()
  await bench.hf.close()
  expect(await replay).toMatchObject({ code: 'CLOSED' })
})
