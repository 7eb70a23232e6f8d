import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'
import { LockTimeoutError } from '../errors.ts'
import type { Share } from './share.ts'

/** A hold that is around the present flow, and the one around that. */
export interface Frame {
  readonly share: Share
  readonly outer: Frame | null
}

/**
 * Knows which holds are around the present flow. The storage is made when the first reentrant lock is used, since it slows
 * down every await of a Node 20 process, for good.
 */
export class Reentry {
  #storage: AsyncLocalStorage<Frame> | null = null

  /** Runs `work` inside a hold. */
  inside<T>(share: Share, work: () => T): T {
    this.#storage ??= new AsyncLocalStorage()
    return this.#storage.run({ share, outer: this.#storage.getStore() ?? null }, work)
  }

  /** The innermost living hold of this key around the present flow. Dead ones, of work that outlived its hold, are ignored. */
  around(key: string): Share | null {
    for (let frame = this.#storage?.getStore() ?? null; frame !== null; frame = frame.outer) {
      if (frame.share.lease.address.key === key && frame.share.alive) return frame.share
    }
    return null
  }
}

/**
 * A nested share of `outer`; waits for its turn when another branch of the flow has one.
 *
 * @returns `null` when `outer` ended or was lost meanwhile: there is nothing to nest in any more
 * @throws LockTimeoutError after `wait` milliseconds, or the signal's reason
 */
export function nestIn(
  outer: Share,
  options: { wait: number; signal: AbortSignal | null; clock: Clock },
): Promise<Share | null> {
  if (outer.free) return Promise.resolve(outer.nest())
  const { wait, signal, clock } = options
  const { lease } = outer
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      timer.cancel()
      leave()
      signal?.removeEventListener('abort', onAbort)
      lease.signal.removeEventListener('abort', onTurn)
      settle()
    }
    const onTurn = (): void => finish(() => resolve(outer.alive ? outer.nest() : null))
    const onAbort = (): void => finish(() => reject(signal?.reason as unknown))
    const leave = outer.waitForTurn(onTurn)
    const busy = new LockTimeoutError(lease.address.name, wait, lease.owner)
    const timer = clock.setTimer(() => finish(() => reject(busy)), wait, { keepAlive: true })
    signal?.addEventListener('abort', onAbort)
    lease.signal.addEventListener('abort', onTurn)
  })
}
