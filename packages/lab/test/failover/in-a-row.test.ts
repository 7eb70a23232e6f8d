import { expect, test } from 'vitest'
import { FailoversInARow, type FailoverRound } from '../../src/failover/in-a-row.ts'

/**
 * Goal: failovers one after the other leave nothing behind: no listener, no subscription, no connection more than after the first.
 * Method: two of them on a set with sentinels; `packages/lab/src/failover/in-a-row-main.ts` does ten.
 */

test('15: two failovers in a row, ioredis 5: locks go on, and nothing piles up', async () => {
  const drill = await FailoversInARow.start('ioredis5')
  const rounds: FailoverRound[] = []
  try {
    for (let i = 0; i < 2; i += 1) rounds.push(await drill.round())
  } finally {
    await drill.close()
  }
  const [first, second] = rounds as [FailoverRound, FailoverRound]
  expect(second.listeners).toBe(first.listeners)
  expect(second.connections).toBeLessThanOrEqual(first.connections)
  expect(second.channels).toBe(0)
  for (const { handedOnAfter } of rounds) expect(handedOnAfter ?? 0).toBeLessThan(1_500)
})
