import { events } from '../../events/channels.ts'
import type { LockAddress } from '../../name.ts'
import type { Attempt } from '../../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  ForceResult,
  LeaveAsk,
  LockListener,
  LockRecord,
  LockStore,
  OwnerAsk,
  QueueManners,
  ReleaseResult,
  RenewAsk,
  RenewResult,
  StoreContext,
} from '../../store/contract.ts'
import { tellFenceLead } from '../../store/fence-lead.ts'
import { holderOf, newProcessName, traceSuffix } from '../../store/owner.ts'
import { ServerClock } from '../../store/server-clock.ts'
import { Gatherer, type CallItem, type CallKind } from './gather.ts'
import { channelPrefix, LockCallKinds } from './lock-calls.ts'
import type { RedisPort } from './port.ts'
import { WakeChannel } from './wake-channel.ts'

type Result = readonly string[]

/** Locks on one Redis server: turns each ask into an item of a script call, and the item's reply into a result. */
export class RedisLockStore implements LockStore {
  readonly process: string
  readonly #gatherer: Gatherer
  readonly #kinds: LockCallKinds
  readonly #wakes: WakeChannel
  readonly #port: RedisPort

  constructor(port: RedisPort, context: StoreContext) {
    this.process = newProcessName(context.randomness)
    this.#port = port
    this.#kinds = new LockCallKinds(this.process)
    const serverClock = new ServerClock(context.clock)
    port.onConnection(() => serverClock.forget())
    this.#gatherer = new Gatherer(port, this.process, context.clock, serverClock)
    const channels = context.prefixes.map((prefix) => channelPrefix(prefix) + this.process)
    this.#wakes = new WakeChannel(port, context.clock, channels)
  }

  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const { address, owner, trace, ttl, queue, reserve = 0 } = ask
    const answer = this.#do(
      this.#kinds.acquire(address),
      address,
      attempt,
      acquireResult,
      (args, notAfter) => {
        args.push(
          owner,
          traceSuffix(trace),
          String(ttl),
          String(notAfter),
          mannersOf(queue) + (reserve > 0 ? String(reserve) : ''),
        )
      },
    )
    if (events.fenceLeadsClock.hasSubscribers) {
      answer.then(
        (granted) => tellFenceLead(address, granted),
        () => undefined,
      )
    }
    return answer
  }

  release({ address, owner }: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    return this.#do(this.#kinds.release(address), address, attempt, releaseResult, owner)
  }

  renew({ address, owner, fence, ttl }: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    return this.#do(this.#kinds.renew, address, attempt, renewResult, (args, notAfter) => {
      args.push(`${owner}#${fence}`, String(ttl), String(notAfter))
    })
  }

  leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    return this.#do(this.#kinds.leave(address), address, attempt, leaveResult, null)
  }

  inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    return this.#do(this.#kinds.inspect, address, attempt, inspectResult, null)
  }

  force({ address, owner }: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    return this.#do(this.#kinds.force(address), address, attempt, forceResult, owner)
  }

  listen(listener: LockListener): void {
    this.#wakes.listen(listener)
    // Who waits finds out that the client was closed, instead of at the next poll.
    this.#port.onEnd(() => listener.gap())
  }

  attend(needed: boolean): void {
    this.#wakes.need(needed)
  }

  close(): Promise<void> {
    return this.#wakes.close()
  }

  /** Adds an item to the next call. With `own` as a function the server refuses it after the attempt's time. */
  #do<R>(
    kind: CallKind,
    address: LockAddress,
    attempt: Attempt,
    read: (result: Result) => R,
    own: OwnArguments,
  ): Promise<Answer<R>> {
    return new Promise((resolve, reject) => {
      const keys = kind === this.#kinds.renew ? [address.key] : [address.key, address.queueKey]
      this.#gatherer.add(kind, new LockCallItem(keys, attempt, own, read, resolve, reject))
    })
  }
}

/** What an item adds to the call's arguments: nothing, one word, or several that depend on its last moment. */
type OwnArguments = string | null | ((args: string[], notAfter: number) => void)

/** One ask as an item of a call. */
class LockCallItem<R> implements CallItem {
  readonly keys: readonly string[]
  readonly attempt: Attempt
  readonly expires: boolean
  readonly fail: (error: unknown) => void
  readonly #own: OwnArguments
  readonly #read: (result: Result) => R
  readonly #resolve: (answer: Answer<R>) => void

  constructor(
    keys: readonly string[],
    attempt: Attempt,
    own: OwnArguments,
    read: (result: Result) => R,
    resolve: (answer: Answer<R>) => void,
    reject: (error: unknown) => void,
  ) {
    this.keys = keys
    this.attempt = attempt
    this.expires = typeof own === 'function'
    this.fail = reject
    this.#own = own
    this.#read = read
    this.#resolve = resolve
  }

  write(args: string[], notAfter: number): void {
    if (typeof this.#own === 'function') this.#own(args, notAfter)
    else if (this.#own !== null) args.push(this.#own)
  }

  settle(result: Result, serverTime: number, maybeTwice: boolean): void {
    this.#resolve({ result: this.#read(result), serverTime, maybeTwice })
  }
}

function mannersOf({ join, stands, yield: yields }: QueueManners): string {
  return `${join ? 'j' : ''}${stands ? 's' : ''}${yields ? 'y' : ''}`
}

const leaveResult = (): null => null
const remainingOf = (pttl: string | undefined): number | null => (Number(pttl) < 0 ? null : Number(pttl))

function acquireResult([kind = '', first = '', second]: Result): AcquireResult {
  switch (kind) {
    case 'late':
      return { kind }
    case 'turn':
      return { kind: 'busy', holder: null }
    case 'busy':
      return { kind, holder: holderOf(first, remainingOf(second)) }
    case 'mine':
      return { kind: 'granted', fence: BigInt(first), again: true }
    case 'granted':
      return { kind, fence: BigInt(first), again: false, reserved: Number(second) }
    default:
      return { kind: 'granted', fence: BigInt(kind), again: false }
  }
}

function releaseResult([kind, first = '', second]: Result): ReleaseResult {
  if (kind === 'released' || kind === 'woken') return { kind: 'released', wokeOther: kind === 'woken' }
  if (kind === 'missing') return { kind }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

function renewResult([kind, first = '', second]: Result): RenewResult {
  if (kind === 'renewed' || kind === 'missing' || kind === 'late') return { kind }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

function forceResult([kind, first = '', second]: Result): ForceResult {
  if (kind === 'forced') return { kind, fence: BigInt(first) }
  if (kind === 'missing') return { kind }
  return { kind: 'other', holder: holderOf(first, remainingOf(second)) }
}

function inspectResult([kind, value = '', pttl, waiters]: Result): LockRecord | null {
  return kind === 'held' ? { ...holderOf(value, remainingOf(pttl)), waiters: Number(waiters) } : null
}
