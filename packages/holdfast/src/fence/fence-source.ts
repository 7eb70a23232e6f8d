import { InvalidArgumentError } from '../errors.ts'
import { show } from '../show.ts'

/** A held lock, as much of it as a guard needs. What `hf.lock(…)` grants fits; holds without a fence do not. */
export interface FencedHold {
  /** The lock's name. */
  readonly name: string
  readonly fence: bigint
  /** What the store promises about the order of its fences; with `none` every guard refuses the hold. */
  readonly fences?: 'strict' | 'clocked' | 'none'
}

/** What a guard compares: a held lock, or the fence itself, as one that came with a message. */
export type FenceSource = bigint | FencedHold

/** A fence that may be compared, and the lock it is of, where that is known. */
export interface Fence {
  readonly value: bigint
  readonly lock: string | null
}

/** The greatest that every database can hold. */
const MAX = 2n ** 63n - 1n

/**
 * Reads a fence, and refuses whatever cannot promise order.
 *
 * @throws InvalidArgumentError when it is neither a bigint from 1 to 2^63 - 1 nor a hold with such a fence, or is a hold of a
 *   store that promises nothing about their order
 */
export function readFence(source: unknown): Fence {
  if (typeof source === 'bigint') return { value: checkRange(source), lock: null }
  if (typeof source !== 'object' || source === null) {
    throw new InvalidArgumentError('fence', source, {
      problem: typeof source === 'number' ? 'is a number, which cannot hold every fence' : 'is not a fence',
      remedy:
        typeof source === 'string' || typeof source === 'number'
          ? 'Give the held lock, or its fence as a bigint: BigInt(text) where it came as digits.'
          : 'Give the held lock, or its fence as a bigint.',
    })
  }
  const { name, fence, fences } = source as Partial<Record<keyof FencedHold, unknown>>
  if (typeof fence !== 'bigint' || typeof name !== 'string') {
    throw new InvalidArgumentError('fence', describe(source), {
      problem: 'carries no fence, so that nothing can be compared',
      remedy:
        'Give what lock.acquire() or run() gives; read holds, permits and quorums without `fence` have none.',
    })
  }
  if (fences === 'none') {
    throw new InvalidArgumentError('fence', describe(source), {
      problem: 'is of a lock whose store cannot promise that fences rise',
      remedy: "Take the lock on a store whose traits say fences 'strict' or 'clocked'.",
    })
  }
  return { value: checkRange(fence), lock: name }
}

function checkRange(fence: bigint): bigint {
  if (fence >= 1n && fence <= MAX) return fence
  throw new InvalidArgumentError('fence', fence, {
    problem:
      fence < 1n ? 'is below 1, the least fence' : 'is above 2^63 - 1, the greatest that a database can hold',
    remedy: 'Give the fence of a held lock, unchanged.',
  })
}

/** For messages: what it is, without all that it holds. */
function describe(source: object): string {
  const { name } = source as { name?: unknown }
  return `${source.constructor?.name ?? 'Object'}${typeof name === 'string' ? ` ${show(name)}` : ''}`
}
