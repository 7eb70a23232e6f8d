import { bounds } from '../../defaults.ts'
import type { LockAddress } from '../../name.ts'
import type { CallKind, Script } from './gather.ts'
import acquireScript from './lua/acquire.lua'
import forceScript from './lua/force.lua'
import inspectScript from './lua/inspect.lua'
import leaveScript from './lua/leave.lua'
import releaseScript from './lua/release.lua'
import renewScript from './lua/renew.lua'

/** Releases before renewals before grants. */
const ORDER = { release: 0, renew: 1, acquire: 2 } as const

/** What the wake-up channels of all processes begin with. */
export const channelPrefix = (prefix: string): string => `${prefix}:wake:`

/** The kinds of calls of one process: one for each script and prefix, made when first needed. */
export class LockCallKinds {
  readonly renew: CallKind = { script: renewScript, order: ORDER.renew, keys: [], args: [] }
  readonly inspect: CallKind = { script: inspectScript, order: ORDER.acquire, keys: [], args: [] }
  readonly acquire: (address: LockAddress) => CallKind
  readonly force: (address: LockAddress) => CallKind
  readonly release: (address: LockAddress) => CallKind
  readonly leave: (address: LockAddress) => CallKind

  constructor(process: string) {
    const retention = String(bounds.fenceRetention)
    this.acquire = perPrefix(acquireScript, ORDER.acquire, ({ fenceKey }) => [
      [fenceKey],
      [process, retention],
    ])
    this.force = perPrefix(forceScript, ORDER.release, ({ fenceKey, prefix }) => [
      [fenceKey],
      [process, channelPrefix(prefix), retention],
    ])
    this.release = perPrefix(releaseScript, ORDER.release, ({ prefix }) => [
      [],
      [process, channelPrefix(prefix)],
    ])
    this.leave = perPrefix(leaveScript, ORDER.release, ({ prefix }) => [[], [process, channelPrefix(prefix)]])
  }
}

type Shared = readonly [keys: readonly string[], args: readonly string[]]

/** Keeps one kind for each prefix: items of one object travel together. There are as many prefixes as were configured. */
function perPrefix(
  script: Script,
  order: number,
  shared: (address: LockAddress) => Shared,
): (address: LockAddress) => CallKind {
  const kinds = new Map<string, CallKind>()
  return (address) => {
    let kind = kinds.get(address.prefix)
    if (kind === undefined) {
      const [keys, args] = shared(address)
      kind = { script, order, keys, args }
      kinds.set(address.prefix, kind)
    }
    return kind
  }
}
