import { millisecondsUntil, type Clock, type Instant } from '../clock.ts'

/**
 * The store keeps what is left or the new lease, whichever is longer, and so do we. Both clocks' readings move together:
 * an old one of a wall clock that was set back since would hide a sleep.
 */
export function laterOf(next: Instant, standing: Instant, clock: Clock): Instant {
  return millisecondsUntil(next, clock) > millisecondsUntil(standing, clock) ? next : standing
}
