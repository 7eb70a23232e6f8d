import { createHoldfast, type Store } from 'holdfast'
import { expect } from 'vitest'
import { waitFor } from '../../src/index.ts'

const WAS_ENDED = { code: 'INVALID_ARGUMENT', option: 'client', outcome: 'not-done' }

/**
 * A8: who waits is told at once that the client was ended by its owner, and so is each later call.
 *
 * @param holder a store of the same place, over a client of its own
 * @param end ends the client of `store`
 */
export async function expectEndedClientIsTold(
  { store, holder }: { readonly store: Store; readonly holder: Store },
  end: () => unknown,
): Promise<void> {
  const [hf, other] = [createHoldfast({ store }), createHoldfast({ store: holder })]
  const held = await other.lock('ended').acquire()
  const waiting = hf
    .lock('ended', { wait: '60s' })
    .acquire()
    .catch((error: unknown) => error)
  const waits = async () => ((await other.inspect('ended'))?.waiters ?? 0) > 0
  await waitFor(waits, { what: 'the waiter to stand in the queue' })
  const began = performance.now()
  // Some clients end only when they are idle.
  void end()
  expect(await waiting).toMatchObject(WAS_ENDED)
  expect(performance.now() - began).toBeLessThan(10_000)
  for (let call = 0; call < 3; call += 1)
    await expect(hf.lock('another').tryAcquire()).rejects.toMatchObject(WAS_ENDED)
  await hf.close()
  await held.release()
  await other.close()
}
