import { slotOf } from '../../../../holdfast/src/stores/redis/cluster/slot.ts'
import type { Link } from '../network/link.ts'
import type { ServerHost } from '../network/server-host.ts'
import { ServerError, type Reply } from '../server/reply.ts'
import type { SlotTable } from './slot-table.ts'

const CROSS_SLOT = new ServerError("CROSSSLOT Keys in request don't hash to the same slot")
const TRY_AGAIN = new ServerError('TRYAGAIN Multiple keys request during rehashing of slot')
const IS_DOWN = new ServerError('CLUSTERDOWN The cluster is down')

/**
 * What a node of a cluster does about a command before it runs it, as Redis 7 does: who has the slot, by what this node knows; and while a
 * slot is on its way, whether the keys are on this side.
 */
export class ClusterMember {
  /** `host:port`. */
  readonly address: string
  readonly host: ServerHost
  /** Who has which slot, as far as it knows. */
  view: SlotTable
  /** Slots that are on their way from here, and where to. */
  readonly migrating = new Map<number, string>()
  /** Slots that are on their way to here. */
  readonly importing = new Set<number>()
  /** Whether it misses a primary, and serves nobody. */
  misses = false
  readonly #asking = new WeakSet<Link>()

  constructor(address: string, host: ServerHost, view: SlotTable) {
    this.address = address
    this.host = host
    this.view = view
  }

  /** What it answers by itself; `null` for what its server has to do. */
  answer(link: Link, command: readonly string[]): Reply | null {
    const name = command[0]?.toUpperCase()
    const asked = this.#asking.has(link)
    this.#asking.delete(link)
    if (name === 'ASKING') {
      this.#asking.add(link)
      return 'OK'
    }
    if (name === 'CLUSTER') return this.#slots()
    return this.refusal(keysOf(name, command), asked)
  }

  /** Why it does nothing with these keys; `null` when it does. */
  refusal(keys: readonly string[], asked: boolean): ServerError | null {
    const [first] = keys
    if (first === undefined) return null
    const slot = slotOf(first)
    if (keys.some((key) => slotOf(key) !== slot)) return CROSS_SLOT
    if (this.misses) return IS_DOWN
    const there = keys.filter((key) => this.#has(key)).length
    const migratesTo = this.migrating.get(slot)
    if (migratesTo !== undefined && there < keys.length)
      return there > 0 ? TRY_AGAIN : new ServerError(`ASK ${slot} ${migratesTo}`)
    const isSeveral = new Set(keys).size > 1
    if (this.importing.has(slot) && asked) return isSeveral && there < keys.length ? TRY_AGAIN : null
    const owner = this.view.ownerOf(slot)
    return owner === this.address ? null : new ServerError(`MOVED ${slot} ${owner}`)
  }

  #has(key: string): boolean {
    return this.host.model.entry(key, this.host.nowMicros) !== undefined
  }

  #slots(): Reply {
    return this.view.ranges().map(([from, to, owner]) => {
      const [name = '', port = ''] = owner.split(':')
      return [from, to, [name, Number(port), `id-of-${owner}`, []]]
    })
  }
}

/** The keys of a command; of those that do not run a script, sharded channels count as keys. */
function keysOf(name: string | undefined, command: readonly string[]): readonly string[] {
  if (name === 'EVALSHA' || name === 'EVAL') return command.slice(3, 3 + Number(command[2]))
  return name === 'SSUBSCRIBE' ? command.slice(1) : []
}
