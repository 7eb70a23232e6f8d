import { bounds } from '../../defaults.ts'
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
  ReleaseResult,
  RenewAsk,
  RenewResult,
  StoreContext,
} from '../../store/contract.ts'
import { tellFenceLead } from '../../store/fence-lead.ts'
import { holderOf, newProcessName, traceSuffix } from '../../store/owner.ts'
import { ServerClock } from '../../store/server-clock.ts'
import { Gatherer, type CallKind, type Script } from './gather.ts'
import acquireScript from './lua/acquire.lua'
import forceScript from './lua/force.lua'
import inspectScript from './lua/inspect.lua'
import leaveScript from './lua/leave.lua'
import releaseScript from './lua/release.lua'
import renewScript from './lua/renew.lua'
import type { RedisPort } from './port.ts'
import { WakeChannel } from './wake-channel.ts'

/** Releases before renewals before grants. */
const ORDER = { release: 0, renew: 1, acquire: 2 } as const

const channelPrefix = (prefix: string): string => `${prefix}:wake:`

type Result = readonly string[]

/** Locks on one Redis server: turns each ask into an item of a script call, and the item's reply into a result. */
export class RedisLockStore implements LockStore {
  readonly process: string
  readonly #gatherer: Gatherer
  readonly #wakes: WakeChannel
  readonly #port: RedisPort

  constructor(port: RedisPort, context: StoreContext) {
    this.process = newProcessName(context.randomness)
    this.#port = port
    const serverClock = new ServerClock(context.clock)
    port.onConnection(() => serverClock.forget())
    this.#gatherer = new Gatherer(port, this.process, context.clock, serverClock)
    const channels = context.prefixes.map((prefix) => channelPrefix(prefix) + this.process)
    this.#wakes = new WakeChannel(port, context.clock, channels)
  }

  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const { address, owner, trace, ttl, queue } = ask
    const kind = this.#kind(
      acquireScript,
      ORDER.acquire,
      address.fenceKey,
      [address.fenceKey],
      [String(bounds.fenceRetention)],
    )
    const manners = `${queue.join ? 'j' : ''}${queue.stands ? 's' : ''}${queue.yield ? 'y' : ''}`
    const suffix = traceSuffix(trace)
    const answer = this.#do(kind, [address.key, address.queueKey], attempt, acquireResult, (notAfter) => [
      owner,
      suffix,
      String(ttl),
      String(notAfter),
      manners,
    ])
    if (events.fenceLeadsClock.hasSubscribers) {
      answer.then(
        (granted) => tellFenceLead(address, granted),
        () => undefined,
      )
    }
    return answer
  }

  release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    const { address, owner } = ask
    const kind = this.#kind(releaseScript, ORDER.release, address.prefix, [], [channelPrefix(address.prefix)])
    return this.#do(kind, [address.key, address.queueKey], attempt, releaseResult, [owner])
  }

  renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    const { address, owner, fence, ttl } = ask
    const kind = { script: renewScript, order: ORDER.renew, group: '', keys: [], args: [] }
    return this.#do(kind, [address.key], attempt, renewResult, (notAfter) => [
      `${owner}#${fence}`,
      String(ttl),
      String(notAfter),
    ])
  }

  leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    const kind = this.#kind(leaveScript, ORDER.release, address.prefix, [], [channelPrefix(address.prefix)])
    return this.#do(kind, [address.key, address.queueKey], attempt, () => null, [])
  }

  inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    const kind = { script: inspectScript, order: ORDER.acquire, group: '', keys: [], args: [] }
    return this.#do(kind, [address.key, address.queueKey], attempt, inspectResult, [])
  }

  force(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    const { address, owner } = ask
    const args = [channelPrefix(address.prefix), String(bounds.fenceRetention)]
    const kind = this.#kind(forceScript, ORDER.release, address.fenceKey, [address.fenceKey], args)
    return this.#do(kind, [address.key, address.queueKey], attempt, forceResult, [owner])
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

  #kind(
    script: Script,
    order: number,
    group: string,
    keys: readonly string[],
    args: readonly string[],
  ): CallKind {
    return { script, order, group, keys, args: [this.process, ...args] }
  }

  /** Adds an item to the next call. With `args` as a function the server refuses it after the attempt's time. */
  #do<R>(
    kind: CallKind,
    keys: readonly string[],
    attempt: Attempt,
    read: (result: Result) => R,
    args: Result | ((notAfter: number) => Result),
  ): Promise<Answer<R>> {
    return new Promise((resolve, reject) => {
      this.#gatherer.add(kind, {
        keys,
        attempt,
        expires: typeof args === 'function',
        args: typeof args === 'function' ? args : () => args,
        settle: ({ result, serverTime, maybeTwice }) =>
          resolve({ result: read(result), serverTime, maybeTwice }),
        fail: reject,
      })
    })
  }
}

const remainingOf = (pttl: string | undefined): number | null => (Number(pttl) < 0 ? null : Number(pttl))

function acquireResult([kind, first = '', second]: Result): AcquireResult {
  if (kind === 'granted' || kind === 'mine')
    return { kind: 'granted', fence: BigInt(first), again: kind === 'mine' }
  if (kind === 'late') return { kind }
  return { kind: 'busy', holder: kind === 'turn' ? null : holderOf(first, remainingOf(second)) }
}

function releaseResult([kind, first = '', second]: Result): ReleaseResult {
  if (kind === 'released') return { kind, wokeOther: first === '1' }
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
