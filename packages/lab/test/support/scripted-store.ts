import type { Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Clock } from 'holdfast/testing'

/** `silent`: done, and never answered. `late`: not done, since it came too late. `true`: done and answered. */
export type ScriptedAnswer = 'silent' | 'late' | 'true'

type Locks = ReturnType<Store['open']>['locks']

/** A call that the store was asked for. */
export interface AskedCall {
  readonly call: 'acquire' | 'release'
  readonly owner: string
}

/** A store in memory whose answers to acquire and release the test exchanges, call by call. */
export class ScriptedStore implements Store {
  readonly kind = 'scripted'
  readonly traits = memoryStore().traits
  readonly calls: AskedCall[] = []
  readonly #clock: Clock
  readonly #next: (call: AskedCall['call']) => ScriptedAnswer
  readonly #inner = memoryStore()

  constructor(clock: Clock, next: (call: AskedCall['call']) => ScriptedAnswer) {
    this.#clock = clock
    this.#next = next
  }

  open(context: Parameters<Store['open']>[0]): ReturnType<Store['open']> {
    const opened = this.#inner.open(context)
    const { locks } = opened
    const acquire: Locks['acquire'] = locks.acquire.bind(locks)
    const release: Locks['release'] = locks.release.bind(locks)
    locks.acquire = async (ask, attempt) => {
      this.calls.push({ call: 'acquire', owner: ask.owner })
      const how = this.#next('acquire')
      if (how === 'late') {
        attempt.sent = { monotonic: this.#clock.monotonic(), wall: this.#clock.wall() }
        return { result: { kind: 'late' }, serverTime: this.#clock.wall(), maybeTwice: false }
      }
      const answer = await acquire(ask, attempt)
      return how === 'silent' ? new Promise(() => {}) : answer
    }
    locks.release = async (ask, attempt) => {
      this.calls.push({ call: 'release', owner: ask.owner })
      const answer = await release(ask, attempt)
      return this.#next('release') === 'silent' ? new Promise(() => {}) : answer
    }
    return opened
  }
}
