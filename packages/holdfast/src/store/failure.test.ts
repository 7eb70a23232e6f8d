import { afterEach, expect, test, vi } from 'vitest'
import { createHoldfast } from '../holdfast.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from '../testing/seeded-randomness.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import type { LockStore, Store } from './contract.ts'
import { StoreFailure } from './failure.ts'

/** Goal: a store of one copy of the library serves an instance of the other. Method: the module is loaded a second time. */

const LOST = { kind: 'unreachable', outcome: 'unknown', final: false, reason: 'connection' } as const

async function anotherCopy(): Promise<typeof StoreFailure> {
  vi.resetModules()
  const { StoreFailure: Copy } = await import('./failure.ts')
  expect(Copy).not.toBe(StoreFailure)
  return Copy
}

afterEach(() => vi.resetModules())

test('a failure of the other copy is known as one, and nothing else is', async () => {
  const Copy = await anotherCopy()
  expect(new Copy('lost', LOST)).toBeInstanceOf(StoreFailure)
  expect(new StoreFailure('lost', LOST)).toBeInstanceOf(Copy)
  for (const other of [null, 'lost', new Error('lost'), { ...LOST }])
    expect(other).not.toBeInstanceOf(StoreFailure)
})

/** Grants, and loses its first answer. */
function forgetful(Failure: typeof StoreFailure): Store {
  const inner = memoryStore()
  let lost = 1
  return {
    ...inner,
    open(context) {
      const opened = inner.open(context)
      const acquire: LockStore['acquire'] = async (...ask) => {
        const answer = await opened.locks.acquire(...ask)
        if (lost-- > 0) throw new Failure('lost', LOST)
        return answer
      }
      const locks = new Proxy(opened.locks, {
        get(target, name) {
          if (name === 'acquire') return acquire
          const member: unknown = Reflect.get(target, name, target)
          return typeof member === 'function' ? (member.bind(target) as unknown) : member
        },
      })
      return { ...opened, locks, close: () => opened.close() }
    },
  }
}

test('A2: a lost answer of a store of the other copy is asked for again, as one of the own', async () => {
  const clock = new VirtualClock()
  const store = forgetful(await anotherCopy())
  const hf = createHoldfast({ store, clock, randomness: seededRandomness(1) })
  const acquiring = hf.lock('a').acquire()
  acquiring.catch(() => undefined)
  await clock.advance(100)
  expect((await acquiring).lost).toBeNull()
  const closing = hf.close()
  await clock.advance(5_000)
  await closing
})
