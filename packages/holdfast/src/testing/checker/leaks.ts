import type { Leak } from '../history-record.ts'
import type { History } from './history.ts'
import type { Violation } from './verdict.ts'

const WHAT: Readonly<Record<Leak['what'], string>> = {
  rejection: 'A rejection was not handled',
  timer: 'A timer was left behind',
  listener: 'A listener was left behind',
  socket: 'A socket was left behind',
  key: 'A key was left behind',
}

/** INV-C1: what was seen to be left behind, and keys that never expire. */
export function judgeLeaks(history: History): Violation[] {
  const leaks = history.leaks.map((leak): Violation => ({
    invariant: 'INV-C1',
    name: null,
    sentence: `${WHAT[leak.what]} by ${leak.process}: ${leak.detail}`,
    witness: [leak],
  }))
  const lasting = history.keys
    .filter(({ expiresIn }) => expiresIn === null)
    .map((key): Violation => ({
      invariant: 'INV-C1',
      name: key.name,
      sentence: `The key ${key.key} has no expiry.`,
      witness: [key],
    }))
  return [...leaks, ...lasting]
}
