import acquire from '../../../../holdfast/src/stores/redis/lua/acquire.lua'
import release from '../../../../holdfast/src/stores/redis/lua/release.lua'
import type { Script } from './scripted-server.ts'

/** What the search for locks that two hold, or nobody, goes by. Taking one out must be found. */
export interface AcquireRules {
  readonly acquire: Script
  readonly release: Script
  /** When a lease ends whose request was sent at one time, and whose answer was heard at another. */
  readonly deadline: (sent: number, heard: number, ttl: number) => number
  /** Whether a grant is handed over whose answer came after its deadline. */
  readonly handsOverLate: boolean
  /** Whether 'late' is the end, rather than that nobody knows. */
  readonly lateIsRefused: boolean
  /**
   * When a release is done with, whose owner may have been asked for more than once, or may still be asked for: once it was
   * answered after the last moment in which a copy could be granted, or with its first answer.
   */
  readonly releaseEnds: 'after-the-last-moment' | 'answered'
  /** Whether what failed is given back at all. */
  readonly compensates: boolean
  /** Whether the next call of a client asks under the same owner. */
  readonly reusesOwners: boolean
  /** Whether a refusal in the reply to one copy is believed, though another copy may be under way. */
  readonly believesCopies: boolean
}

export const ACQUIRE_RULES: AcquireRules = {
  acquire,
  release,
  deadline: (sent, _heard, ttl) => sent + ttl,
  handsOverLate: false,
  lateIsRefused: false,
  releaseEnds: 'after-the-last-moment',
  compensates: true,
  reusesOwners: false,
  believesCopies: false,
}
