import acquire from '../../../holdfast/src/stores/redis/lua/acquire.lua'
import leave from '../../../holdfast/src/stores/redis/lua/leave.lua'
import release from '../../../holdfast/src/stores/redis/lua/release.lua'
import renew from '../../../holdfast/src/stores/redis/lua/renew.lua'
import type { ProxiedCommand } from '../../src/index.ts'

/** Tells apart, at the proxy, which of the library's scripts a command runs. For one lock per call. */

const runs =
  (script: { readonly sha1: string; readonly source: string }) =>
  ({ name, args: [what] }: Pick<ProxiedCommand, 'name' | 'args'>): boolean =>
    (name === 'EVALSHA' && what === script.sha1) || (name === 'EVAL' && what === script.source)

export const isAcquire = runs(acquire)
export const isRelease = runs(release)
export const isRenew = runs(renew)
export const isLeave = runs(leave)

/** The owner for whom an acquire asks. */
export function ownerIn({ args }: Pick<ProxiedCommand, 'args'>): string {
  // Script, number of keys, the keys; call, process, retention, ttl, manners, tail, not after; then the item.
  const [tail, , id] = args.slice(2 + Number(args[1]) + 5)
  if (tail === undefined || id === undefined) throw new Error('this is no acquire')
  return id.slice(0, 22) + tail
}
