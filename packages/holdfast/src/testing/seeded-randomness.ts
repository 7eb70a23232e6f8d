import type { Randomness } from '../clock.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Randomness that is the same for the same seed, so that a failed run can be replayed. Not for secrets.
 * The generator is Mulberry32 by Tommy Ettinger (public domain).
 */
export function seededRandomness(seed: number): Randomness {
  let state = seed >>> 0
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const id = (length: number): string => {
    let text = ''
    for (let i = 0; i < length; i += 1) text += ALPHABET.charAt(Math.floor(fraction() * ALPHABET.length))
    return text
  }
  return { fraction, id }
}
