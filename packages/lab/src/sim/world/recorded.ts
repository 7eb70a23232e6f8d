import type { Held, Lock } from 'holdfast'
import type { AskOptions, HeldLike, LockLike, ReleaseAnswer } from 'holdfast/testing'

/** A hold whose lengths of time are those of the world, not of its process's clock. */
export class WorldHold implements HeldLike {
  readonly owner: string
  readonly fence: bigint
  readonly #held: Held
  readonly #rate: number
  /** What the next `extend` asks for, by the process's own clock. */
  extendBy = 0

  constructor(held: Held, rate: number) {
    this.owner = held.owner
    this.fence = held.fence
    this.#held = held
    this.#rate = rate
  }

  get signal(): AbortSignal {
    return this.#held.signal
  }

  get lost(): string | null {
    return this.#held.lost
  }

  remaining(): number {
    return this.#held.remaining() / this.#rate
  }

  assertHeld(): void {
    this.#held.assertHeld()
  }

  extend(): Promise<void> {
    return this.#held.extend(this.extendBy)
  }

  release(): Promise<ReleaseAnswer> {
    return this.#held.release()
  }
}

/** The library's lock, as the recorder calls it. */
export function worldLock(lock: Lock, rate: number): LockLike<WorldHold> {
  const signalOf = (options?: AskOptions<WorldHold>): { signal?: AbortSignal } =>
    options?.signal === undefined ? {} : { signal: options.signal }
  return {
    acquire: async (options) => new WorldHold(await lock.acquire(signalOf(options)), rate),
    tryAcquire: async (options) => {
      const held = await lock.tryAcquire(signalOf(options))
      return held === null ? null : new WorldHold(held, rate)
    },
    run: (work, options) => lock.run((held) => work(new WorldHold(held, rate)), signalOf(options)),
  }
}

/** A length by a clock that runs at `rate`, in whole milliseconds of world time, rounded up. */
export function inWorldTime(ms: number, rate: number): number {
  return Math.ceil(ms / rate)
}
