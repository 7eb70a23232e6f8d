import acquire from '../../../../holdfast/src/stores/redis/lua/acquire.lua'
import force from '../../../../holdfast/src/stores/redis/lua/force.lua'
import inspect from '../../../../holdfast/src/stores/redis/lua/inspect.lua'
import leave from '../../../../holdfast/src/stores/redis/lua/leave.lua'
import limitCount from '../../../../holdfast/src/stores/redis/lua/limit-count.lua'
import limitPeek from '../../../../holdfast/src/stores/redis/lua/limit-peek.lua'
import limitRecount from '../../../../holdfast/src/stores/redis/lua/limit-recount.lua'
import limitRenew from '../../../../holdfast/src/stores/redis/lua/limit-renew.lua'
import onceClaim from '../../../../holdfast/src/stores/redis/lua/once-claim.lua'
import onceComplete from '../../../../holdfast/src/stores/redis/lua/once-complete.lua'
import onceFree from '../../../../holdfast/src/stores/redis/lua/once-free.lua'
import onceRenew from '../../../../holdfast/src/stores/redis/lua/once-renew.lua'
import onceSettle from '../../../../holdfast/src/stores/redis/lua/once-settle.lua'
import release from '../../../../holdfast/src/stores/redis/lua/release.lua'
import renew from '../../../../holdfast/src/stores/redis/lua/renew.lua'
import type { ScriptName } from '../plan/plan.ts'

const LOCKS = [acquire, force, inspect, leave, release, renew]
const LIMITS = [limitCount, limitPeek, limitRecount, limitRenew]
const ONCE = [onceClaim, onceComplete, onceFree, onceRenew, onceSettle]

const NAMES = new Map<string, ScriptName>(
  [...LOCKS, ...LIMITS, ...ONCE].flatMap(({ name, sha1, source }) => [
    [sha1, name as ScriptName],
    [source, name as ScriptName],
  ]),
)

/** Which of the library's scripts a command runs; `null` for any other command. */
export function scriptIn([name, what]: readonly string[]): ScriptName | null {
  return name === 'EVALSHA' || name === 'EVAL' ? (NAMES.get(what ?? '') ?? null) : null
}
