import { InvalidArgumentError, type WorkOutcome } from '../errors.ts'
import { unstorable, type Encoded } from './codec.ts'

/**
 * Whether an outcome is final. When `isFinal` fails, or says neither true nor false, it is final and cannot be stored: the work must
 * not run again by mistake.
 */
export function judgementOf(
  isFinal: (outcome: WorkOutcome) => unknown,
  work: WorkOutcome,
): boolean | Encoded {
  try {
    const said = isFinal(work)
    if (typeof said === 'boolean') return said
    // What a promise comes to nobody waits for; nor is its failure anybody's.
    if (said instanceof Promise) said.catch(() => undefined)
    return unstorable(
      'codec',
      new InvalidArgumentError('isFinal', said, {
        problem: 'is what it returned, which is neither true nor false',
        remedy:
          'Return a boolean at once, not a promise of one: (outcome) => outcome.value?.id !== undefined.',
      }),
    )
  } catch (error) {
    return unstorable('codec', error)
  }
}
