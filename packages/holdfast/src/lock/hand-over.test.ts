import { expect, test } from 'vitest'
import { createHoldfast, type Holdfast } from '../holdfast.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'

/**
 * Goal: a lock that many processes wait for goes from hand to hand by wake-ups alone, not by the safety poll.
 * Method: four instances on one store take turns in work of a millisecond, under a virtual clock. Each is woken again
 * within the time in which it lets others go first after its own release.
 */
test('a process that is woken soon after its own release takes the lock, and does not stand back', async () => {
  const clock = new VirtualClock()
  const randomness = seededRandomness(1)
  const store = memoryStore()
  const instances = Array.from({ length: 4 }, () => createHoldfast({ store, clock, randomness }))
  let ended = 0
  const work = (hf: Holdfast) =>
    hf.lock('a', { wait: '1m', handOver: false }).run(
      () =>
        new Promise<void>((resolve) => {
          clock.setTimer(resolve, 1)
        }),
    )
  const all = instances.flatMap((hf) => Array.from({ length: 10 }, () => work(hf).then(() => (ended += 1))))
  await clock.settle()
  for (let ms = 0; ms < 60; ms += 1) await clock.advance(1)
  expect(ended).toBe(40)
  await Promise.all(all)
  await Promise.all(instances.map((hf) => hf.close()))
})
