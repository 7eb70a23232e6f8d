import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from './testing/virtual-clock.ts'
import { Schedule, type Scheduled } from './schedule.ts'

/**
 * Goal: whatever is put in, moved and taken out, each entry is called once, when it is due or together with another, and
 * one timer serves all.
 * Method: a virtual clock, and random histories against a plain list.
 */

class Entry implements Scheduled {
  dueAt = 0
  early = 0
  heapIndex = -1
  readonly calls: number[] = []
  readonly #clock: VirtualClock
  readonly #then: (() => void) | undefined

  constructor(clock: VirtualClock, then?: () => void) {
    this.#clock = clock
    this.#then = then
  }

  onDue(): void {
    this.calls.push(this.#clock.monotonic())
    this.#then?.()
  }
}

function scene() {
  const clock = new VirtualClock({ monotonic: 0 })
  return { clock, schedule: new Schedule(clock) }
}

describe('Schedule', () => {
  test('calls each entry once when it is due, whatever was put, moved or taken out before', async () => {
    const step = fc.record({
      entry: fc.nat(11),
      what: fc.constantFrom('put', 'put', 'remove', 'pass'),
      by: fc.nat(40),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { clock, schedule } = scene()
        const entries = Array.from({ length: 12 }, () => new Entry(clock))
        const due = new Map<Entry, number>()
        const expected = new Map(entries.map((entry) => [entry, [] as number[]]))
        const pass = async (ms: number): Promise<void> => {
          await clock.advance(ms)
          for (const [entry, at] of [...due]) {
            if (at > clock.monotonic()) continue
            expected.get(entry)?.push(at)
            due.delete(entry)
          }
        }
        for (const { entry: index, what, by } of steps) {
          const entry = entries[index] as Entry
          if (what === 'pass') await pass(by)
          else if (what === 'remove') {
            schedule.remove(entry)
            due.delete(entry)
          } else {
            // Not in the past: no timer is shorter than a millisecond.
            const at = clock.monotonic() + 1 + by
            schedule.put(entry, at)
            due.set(entry, at)
          }
          expect(schedule.size).toBe(due.size)
        }
        await pass(1_000)
        for (const entry of entries) expect(entry.calls).toEqual(expected.get(entry))
        expect([schedule.size, clock.pendingTimers]).toEqual([0, 0])
      }),
      { numRuns: 150 },
    )
  })

  test('ten thousand entries cost one timer', () => {
    const { clock, schedule } = scene()
    for (let i = 0; i < 10_000; i += 1) schedule.put(new Entry(clock), 10_000 - i)
    expect(clock.pendingTimers).toBe(1)
    expect(clock.keepAliveTimers).toBe(0)
  })

  test('nothing is left when the last entry is taken out', () => {
    const { clock, schedule } = scene()
    const entry = new Entry(clock)
    schedule.put(entry, 10)
    schedule.remove(entry)
    schedule.remove(entry)
    expect([schedule.size, clock.pendingTimers]).toEqual([0, 0])
  })

  test('an entry that is due earlier than the timer is set for gets its own time', async () => {
    const { clock, schedule } = scene()
    const [late, soon] = [new Entry(clock), new Entry(clock)]
    schedule.put(late, 100)
    schedule.put(soon, 10)
    await clock.advance(200)
    expect([soon.calls, late.calls]).toEqual([[10], [100]])
  })

  test('what may be called early is called together with what is due', async () => {
    const { clock, schedule } = scene()
    const [due, early, later] = [new Entry(clock), new Entry(clock), new Entry(clock)]
    early.early = 30
    later.early = 30
    schedule.put(due, 50)
    schedule.put(early, 80)
    schedule.put(later, 81)
    await clock.advance(50)
    expect([due.calls, early.calls, later.calls]).toEqual([[50], [50], []])
    await clock.advance(50)
    expect(later.calls).toEqual([81])
  })

  test('an entry may put itself back, and is called again at its new time', async () => {
    const { clock, schedule } = scene()
    const entry: Entry = new Entry(clock, () => schedule.put(entry, clock.monotonic() + 20))
    schedule.put(entry, 10)
    await clock.advance(75)
    expect(entry.calls).toEqual([10, 30, 50, 70])
  })

  test('one that another takes out in the same moment is not called', async () => {
    const { clock, schedule } = scene()
    const victim = new Entry(clock)
    const killer = new Entry(clock, () => schedule.remove(victim))
    schedule.put(killer, 10)
    schedule.put(victim, 10)
    await clock.advance(20)
    expect(killer.calls).toEqual([10])
    expect(victim.calls).toEqual([])
  })

  test('one that another moves away in the same moment is called at its new time only', async () => {
    const { clock, schedule } = scene()
    const moved = new Entry(clock)
    const mover = new Entry(clock, () => schedule.put(moved, 30))
    schedule.put(mover, 10)
    schedule.put(moved, 10)
    await clock.advance(50)
    expect(moved.calls).toEqual([30])
  })

  test('one that throws does not take the others along', async () => {
    const { clock, schedule } = scene()
    const broken = new Entry(clock, () => {
      throw new Error('broken')
    })
    const [same, later] = [new Entry(clock), new Entry(clock)]
    schedule.put(broken, 10)
    schedule.put(same, 10)
    schedule.put(later, 30)
    await expect(clock.advance(10)).rejects.toThrow('broken')
    await clock.advance(50)
    expect([broken.calls, same.calls, later.calls]).toEqual([[10], [11], [30]])
  })
})
