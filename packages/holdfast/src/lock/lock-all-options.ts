import { bounds } from '../defaults.ts'
import { InvalidArgumentError } from '../errors.ts'
import {
  checkLockOptions,
  type AcquireOptions,
  type CheckedLockOptions,
  type LockOptions,
} from './options.ts'

/** What `hf.lockAll(names, …)` takes. The same for all of its names. Durations are whole milliseconds, or text as `'30s'`. */
export type LockAllOptions = Pick<LockOptions, 'ttl' | 'wait' | 'maxHold' | 'renew' | 'retry'>

/** What a single call takes, beside the options of {@link LockAllOptions}. */
export type AcquireAllOptions = Omit<AcquireOptions, 'within'>

const KNOWN = ['ttl', 'wait', 'maxHold', 'renew', 'retry']

/** @throws InvalidArgumentError that names option, value and remedy */
export function checkLockAllOptions(options: LockAllOptions | undefined): CheckedLockOptions {
  return checkLockOptions(options, 'lockAll', KNOWN)
}

/**
 * Checks that there are names, each once. What a single name may be is checked where it becomes a key.
 *
 * @throws InvalidArgumentError that names option, value and remedy
 */
export function checkNames(names: unknown): readonly string[] {
  if (!Array.isArray(names)) {
    throw new InvalidArgumentError('names', names, {
      problem: 'is no list of names',
      remedy: "Give a list, as ['account:1', 'account:2'].",
    })
  }
  if (names.length === 0) {
    throw new InvalidArgumentError('names', names, {
      problem: 'is empty, so that nothing would be locked',
      remedy: "Give at least one name, as ['account:1', 'account:2'].",
    })
  }
  if (names.length > bounds.maxNames) {
    throw new InvalidArgumentError('names', names.length, {
      problem: `are too many names; ${bounds.maxNames} is the most`,
      remedy: 'Lock what they have in common by one name.',
    })
  }
  const seen = new Set<unknown>()
  for (const name of names as unknown[]) {
    if (seen.has(name)) {
      throw new InvalidArgumentError('names', name, {
        problem: 'is there twice',
        remedy: 'Give each name once: [...new Set(names)].',
      })
    }
    seen.add(name)
  }
  return [...(names as string[])]
}
