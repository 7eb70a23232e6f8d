import { bounds } from '../defaults.ts'
import type { LockAddress } from '../name.ts'
import type { LockEngine } from './engine.ts'

/** What is known of an owner that has to be cleared away. */
export interface Unsettled {
  /** The server's time after which no copy of its acquire can be granted any more; `null` when none is under way. */
  readonly unfinishedUntil: number | null
  /** The lease it asked for, in milliseconds: after that any key of its has expired by itself. */
  readonly ttl: number
}

/** Between two releases of one owner, at most, in milliseconds. */
const LONGEST_PAUSE = 1_000

/**
 * Releases an owner again and again, until a release was *answered* with a server time beyond the last moment in which a copy
 * of its acquire could still have been granted. One release is not enough: a copy that was held up on the way may run after
 * it, and would leave a key that nobody holds. Ends by itself when any such key must have expired, and
 * when everything was closed.
 */
export async function settleOwner(
  engine: LockEngine,
  address: LockAddress,
  owner: string,
  unsettled: Unsettled,
): Promise<void> {
  const { clock, budget } = engine
  const unfinishedUntil = unsettled.unfinishedUntil ?? 0
  const giveUpAt = clock.monotonic() + 2 * budget + unsettled.ttl
  let pause: number = bounds.pauseBetweenTries
  for (;;) {
    const outcome = await engine.release(address, owner, { background: true })
    if (outcome.kind === 'done') {
      const left = unfinishedUntil - outcome.answer.serverTime
      if (left < 0) return
      pause = left + 1
    } else {
      if (outcome.failure.final) return
      pause = Math.min(LONGEST_PAUSE, pause * 2)
    }
    if (clock.monotonic() >= giveUpAt || engine.over) return
    await engine.pause(pause)
    if (engine.over) return
  }
}
