import { expect, test } from 'vitest'
import { Attempt } from '../../store/attempt.ts'
import { StoreFailure } from '../../store/failure.ts'
import { onceAddress } from '../../store/once/address.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { SqlTransactionalOnce, type OnceLook } from './transactional-once.ts'

/** Goal: a call that was given up writes nothing any more: its caller's transaction may be over, and what follows it commits by itself. */

const ask = {
  address: onceAddress('holdfast:v1', 'pay', 'a', 'k'),
  owner: 'one',
  fingerprint: null,
  retryAbandoned: false,
  lease: 1_000,
  retention: 60_000,
}

test.each([0, 1])('a call that is given up after %i puts puts no more', async (puts) => {
  const looks: ((look: OnceLook) => void)[] = []
  let asked = 0
  const once = new SqlTransactionalOnce(
    {
      stopsOthers: false,
      look: () => new Promise((resolve) => looks.push(resolve)),
      // Somebody else was faster.
      put: () => Promise.resolve(++asked > puts),
      failureOf: (error) => {
        throw error
      },
    },
    new VirtualClock(),
  )
  const attempt = new Attempt(100, 100)
  const claim = once.claim(ask, attempt).catch((error: unknown) => error)
  const answer = async (): Promise<void> => {
    looks.pop()?.({ now: 5, row: null, turn: true })
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
  }
  for (let put = 0; put < puts; put += 1) await answer()
  attempt.abandoned = true
  await answer()
  expect(asked).toBe(puts)
  expect(await claim).toBeInstanceOf(StoreFailure)
  expect(await claim).toMatchObject({ kind: 'refused', outcome: 'not-done', reason: 'abandoned' })
})
