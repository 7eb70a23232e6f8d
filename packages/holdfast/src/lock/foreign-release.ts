import { events } from '../events/channels.ts'
import type { LockAddress } from '../name.ts'

/** Tells that a release found another owner, and changed nothing. */
export function tellForeignRelease(
  { address, owner }: { readonly address: LockAddress; readonly owner: string },
  holder: string,
): void {
  if (!events.foreignRelease.hasSubscribers) return
  const { name: lock, key } = address
  events.foreignRelease.publish({ lock, key, owner, holder })
}
