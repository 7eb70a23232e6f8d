import { bounds } from '../../defaults.ts'
import type { LockAddress } from '../../name.ts'
import type { AcquireResult, AskGroup, ReleaseResult, RenewResult } from '../../store/contract.ts'
import type { Acknowledgement } from './acknowledge.ts'
import { laterBy, type CallItem, type CallKind } from './call-kind.ts'
import { moreTime, type OwnerItem } from './lock-items.ts'
import acquireScript from './lua/acquire.lua'
import forceScript from './lua/force.lua'
import inspectScript from './lua/inspect.lua'
import leaveScript from './lua/leave.lua'
import raiseScript from './lua/raise.lua'
import releaseAloneScript from './lua/release-alone.lua'
import releaseScript from './lua/release.lua'
import renewScript from './lua/renew.lua'

/** Releases before renewals before grants. */
const ORDER = { release: 0, renew: 1, acquire: 2 } as const

/** So many kinds are kept; they are made anew after that. A kind that is in use goes on. */
const MOST_KINDS = 256

/** What the wake-up channels of all processes begin with. */
export const channelPrefix = (prefix: string): string => `${prefix}:wake:`

/** Says to the scripts that they run in a cluster, before the channels' prefix. No prefix has braces. */
const IN_CLUSTER = '{}'
const QUEUE_END = 'queue'

/** Where the last fence is kept in a cluster: one for each name, in its slot, beside its queue. */
const besideQueue = ({ queueKey }: LockAddress): string => `${queueKey.slice(0, -QUEUE_END.length)}fence`

/** What a store demands of the calls about its locks. */
export interface CallTerms {
  /** For how many milliseconds a server that was started grants nothing; `null`: it grants at once. */
  readonly reopenDelay?: number | null
  /** Of what is granted or prolonged; none when left out. */
  readonly acknowledgement?: Acknowledgement | undefined
  /** Whether all keys of a call must lie in one slot. */
  readonly inCluster?: boolean
}

/** Where it stands which server granted last: beside the last fence, in its slot. */
export const epochKeyOf = (fenceKey: string): string => fenceKey.replace(/fence$/, 'epoch')

/** The kinds of calls of one process: what has the same script, prefix and terms travels in one call. */
export class LockCallKinds {
  readonly inspect: CallKind = { script: inspectScript, order: ORDER.acquire, keys: [], args: [] }
  readonly #process: string
  readonly #retention = String(bounds.fenceRetention)
  readonly #acquires = new Kinds()
  readonly #groups = new WeakMap<AskGroup, CallKind>()
  readonly #renewals = new Kinds()
  readonly #releases = new Kinds()
  readonly #leaves = new Kinds()
  readonly #forces = new Kinds()
  readonly #raises = new Kinds()
  readonly #writeAcquires: typeof writeAcquires
  readonly #acknowledgement: Acknowledgement | undefined
  readonly #reopens: boolean

  readonly #inCluster: boolean

  constructor(process: string, terms: CallTerms = {}) {
    const { reopenDelay = null, acknowledgement, inCluster = false } = terms
    this.#process = process
    this.#inCluster = inCluster
    this.#reopens = reopenDelay !== null
    this.#acknowledgement = acknowledgement
    this.#writeAcquires =
      reopenDelay === null
        ? writeAcquires
        : (args, items, earliest) => {
            const before = args.length
            writeAcquires(args, items, earliest)
            // Behind the extras, also where there are none.
            if (args.length === before + 1) args.push('')
            args.push(String(reopenDelay))
          }
  }

  /**
   * @param tail how the owner ends, after its id
   * @param manners as the script reads them
   */
  acquire(address: LockAddress, tail: string, ttl: number, manners: string): CallKind {
    const fenceKey = this.#fenceKeyOf(address)
    return this.#acquires.get(fenceKey, tail, ttl, manners, () => ({
      script: acquireScript,
      order: ORDER.acquire,
      keys: [fenceKey],
      ...(this.#reopens ? { keysAfter: [epochKeyOf(fenceKey)] } : {}),
      args: [this.#process, this.#retention, String(ttl), manners, tail],
      expires: 'by-call',
      write: this.#writeAcquires,
      acknowledgement: this.#acknowledgement,
      whole: grantsOf,
    }))
  }

  /** The same for asks that are granted together or not at all: a kind for each group, so that nothing else travels with them. */
  acquireTogether(
    group: AskGroup,
    address: LockAddress,
    tail: string,
    ttl: number,
    manners: string,
  ): CallKind {
    let kind = this.#groups.get(group)
    if (kind === undefined) {
      kind = { ...this.acquire(address, tail, ttl, `a${manners}`), together: true }
      this.#groups.set(group, kind)
    }
    return kind
  }

  renew(tail: string, ttl: number): CallKind {
    return this.#renewals.get('', tail, ttl, '', () => ({
      script: renewScript,
      order: ORDER.renew,
      keys: [],
      args: [String(ttl), tail],
      expires: 'by-call',
      acknowledgement: this.#acknowledgement,
      whole: () => () => RENEWED,
    }))
  }

  release({ prefix }: LockAddress, tail: string): CallKind {
    return this.#releases.get(prefix, tail, 0, '', () => ({
      script: releaseScript,
      order: ORDER.release,
      keys: [],
      args: [this.#process, this.#channels(prefix), tail],
      write: writeIds,
      whole: () => () => RELEASED,
      ...(this.#inCluster ? { alone: releaseAlone(tail) } : {}),
    }))
  }

  leave({ prefix }: LockAddress): CallKind {
    return this.#leaves.get(prefix, '', 0, '', () => ({
      script: leaveScript,
      order: ORDER.release,
      keys: [],
      args: [this.#process, this.#channels(prefix)],
    }))
  }

  force(address: LockAddress): CallKind {
    const fenceKey = this.#fenceKeyOf(address)
    return this.#forces.get(fenceKey, '', 0, '', () => ({
      script: forceScript,
      order: ORDER.release,
      keys: [fenceKey],
      args: [this.#process, this.#channels(address.prefix), this.#retention],
    }))
  }

  raise(address: LockAddress, tail: string): CallKind {
    const fenceKey = this.#fenceKeyOf(address)
    return this.#raises.get(fenceKey, tail, 0, '', () => ({
      script: raiseScript,
      order: ORDER.acquire,
      keys: [fenceKey],
      args: [this.#retention, tail],
    }))
  }

  #fenceKeyOf(address: LockAddress): string {
    return this.#inCluster ? besideQueue(address) : address.fenceKey
  }

  #channels(prefix: string): string {
    return this.#inCluster ? IN_CLUSTER + channelPrefix(prefix) : channelPrefix(prefix)
  }
}

/** What the items of a call share beside their script. */
interface Terms {
  readonly prefix: string
  readonly tail: string
  readonly ttl: number
  readonly manners: string
}

/** Keeps the kinds of one script, by their terms: items of one object travel together. The last one is found at once. */
class Kinds {
  readonly #kinds = new Map<string, CallKind>()
  #last: (Terms & { readonly kind: CallKind }) | null = null

  get(prefix: string, tail: string, ttl: number, manners: string, make: () => CallKind): CallKind {
    const last = this.#last
    if (
      last !== null &&
      last.ttl === ttl &&
      last.manners === manners &&
      last.prefix === prefix &&
      last.tail === tail
    )
      return last.kind
    // No prefix and no manners have a space.
    const id = `${prefix} ${ttl} ${manners} ${tail}`
    let kind = this.#kinds.get(id)
    if (kind === undefined) {
      if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear()
      kind = make()
      this.#kinds.set(id, kind)
    }
    this.#last = { prefix, tail, ttl, manners, kind }
    return kind
  }
}

/** Gives back what can be given back while the slot moves. Nobody is woken: who waits finds out at its next poll. */
function releaseAlone(tail: string): CallKind {
  return {
    script: releaseAloneScript,
    order: ORDER.release,
    keys: [],
    args: [tail],
    write: writeIds,
    firstKeyOnly: true,
  }
}

function writeIds(args: string[], items: readonly CallItem[]): void {
  let ids = ''
  for (const { id } of items as readonly OwnerItem<unknown>[]) ids += id
  args.push(ids)
}

function writeAcquires(args: string[], items: readonly CallItem[], earliest: number): void {
  writeIds(args, items)
  const owned = items as readonly OwnerItem<unknown>[]
  const plain = owned.every((item) => item.suffix === '' && laterBy(item, earliest) === 0)
  if (!plain) args.push(JSON.stringify(owned.map((item) => moreTime(laterBy(item, earliest)) + item.suffix)))
}

const RENEWED: RenewResult = { kind: 'renewed' }
const RELEASED: ReleaseResult = { kind: 'released', wokeOther: false }

/** The grants of all items when all were granted: the fences follow one another. They are exact as doubles. */
function grantsOf(reply: readonly unknown[]): (index: number) => AcquireResult {
  const first = Number(reply[3])
  return (index) => ({ kind: 'granted', fence: BigInt(first + index), again: false })
}
