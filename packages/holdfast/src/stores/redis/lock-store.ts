import { InvalidArgumentError } from '../../errors.ts'
import { events } from '../../events/channels.ts'
import type { LockAddress } from '../../name.ts'
import type { Attempt } from '../../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  AnswerListener,
  ForceResult,
  LeaveAsk,
  LockListener,
  LockRecord,
  LockStore,
  OwnerAsk,
  QueueManners,
  RaiseAsk,
  RaiseResult,
  ReleaseResult,
  RenewAsk,
  RenewResult,
  ServerIdentity,
  StoreContext,
} from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import { tellFenceLead } from '../../store/fence-lead.ts'
import { ID_CHARACTERS, idOf, leaseIdOf, newProcessName, ownerTail, traceSuffix } from '../../store/owner.ts'
import { promised } from '../../store/promised.ts'
import type { WakeChannel } from '../../store/wake-channel.ts'
import { Acknowledgement, shorterThanWithin, type AcknowledgeTerms } from './acknowledge.ts'
import { slotOf } from './cluster/slot.ts'
import { EpochWatch } from './epoch-watch.ts'
import type { CallKind } from './call-kind.ts'
import type { CallSender, NameChannels, RedisLink } from './link.ts'
import { channelPrefix, LockCallKinds } from './lock-calls.ts'
import { AcquireItem, RaiseItem, ReleaseItem, RenewItem, WordItem } from './lock-items.ts'
import { forceResult, inspectResult, leaveResult, type Words } from './lock-results.ts'
import { readIdentity } from './server-identity.ts'
import { channelOf, hear, redisWakeChannel } from './wake-channel.ts'

/** What a store of locks may demand of its server. */
export interface LockStoreTerms {
  /** For how many milliseconds a server that forgot something grants nothing; `null`: it grants at once. */
  readonly reopenDelay?: number | null
  /** How many replicas must have a grant; `null`: none. */
  readonly acknowledge?: AcknowledgeTerms | null
}

/** Locks on one Redis server or a cluster: turns each ask into an item of a script call, and the item's reply into a result. */
export class RedisLockStore implements LockStore {
  readonly process: string
  /** In a cluster no two names need share a slot. */
  readonly grantsTogether: boolean
  /** How every owner of this process ends; it is said once per call. */
  readonly #tail = ownerTail()
  readonly #ownerLength: number
  readonly #sender: CallSender
  readonly #kinds: LockCallKinds
  readonly #wakes: WakeChannel
  readonly #names: NameChannels | null
  readonly #link: RedisLink
  readonly #reopenDelay: number | null
  readonly #acknowledge: AcknowledgeTerms | null
  readonly #epochs: EpochWatch
  #listener: LockListener | null = null
  /** Releases that were not answered yet, by key; only where grants go over other connections. */
  readonly #releasing = new Map<string, Promise<unknown>>()

  constructor(
    link: RedisLink,
    context: StoreContext,
    { reopenDelay = null, acknowledge = null }: LockStoreTerms = {},
  ) {
    this.process = newProcessName(context.randomness)
    this.grantsTogether = !link.inCluster
    this.#link = link
    this.#reopenDelay = reopenDelay
    this.#acknowledge = acknowledge
    const acknowledgement = acknowledge === null ? undefined : new Acknowledgement(acknowledge, link.client)
    const { inCluster } = link
    this.#kinds = new LockCallKinds(this.process, { reopenDelay, acknowledgement, inCluster })
    this.#ownerLength = ID_CHARACTERS + this.#tail.length
    this.#epochs = new EpochWatch(link, context.clock, {
      changed: (before, after) => this.#listener?.epoch?.(before, after),
      another: () => this.#listener?.moved(),
    })
    link.onConnection((port) => this.#epochs.connected(port))
    this.#sender = link.sender(this.process)
    const channels = context.prefixes.map((prefix) => channelPrefix(prefix) + this.process)
    this.#wakes = redisWakeChannel(link, context.clock, channels)
    this.#names = link.names({
      message: (text) => {
        if (this.#listener !== null) hear(text, this.#listener)
      },
      begun: (key) => this.#listener?.gap(key),
    })
  }

  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    const { address, queue } = ask
    const unfit = this.#unfit(ask.ttl)
    if (unfit !== null) return Promise.reject(unfit)
    if (this.#isApart(address)) return Promise.reject(apartFromItsSideKeys(address.key))
    // It must not overtake a release of the same name, which goes over another connection.
    const release = this.#releasing.get(address.key)
    if (release !== undefined) return release.then(() => this.acquire(ask, attempt))
    const answer = promised<AcquireResult>((listener) => this.#sendAcquire(ask, attempt, listener))
    if (this.#names !== null && queue.join) {
      answer.then(
        ({ result }) => this.#follow(address, result, attempt),
        () => undefined,
      )
    }
    if (!this.#epochs.begun) this.#epochs.begin(answer)
    if (events.fenceLeadsClock.hasSubscribers) {
      answer.then(
        (granted) => tellFenceLead(address, granted),
        () => undefined,
      )
    }
    return answer
  }

  /** As nearly always: nobody but the caller has to know the answer, and nothing stands in the way. */
  acquireFor(ask: AcquireAsk, attempt: Attempt, listener: AnswerListener<AcquireResult>): boolean {
    const plain =
      !this.#link.inCluster &&
      this.#acknowledge === null &&
      this.#epochs.begun &&
      !events.fenceLeadsClock.hasSubscribers &&
      this.#unfit(ask.ttl) === null
    if (plain) this.#sendAcquire(ask, attempt, listener)
    return plain
  }

  #sendAcquire(ask: AcquireAsk, attempt: Attempt, listener: AnswerListener<AcquireResult>): void {
    const { address, owner, ttl, queue, reserve = 0, group } = ask
    const tail = this.#tailOf(owner)
    const manners = mannersOf(queue, reserve)
    const kind =
      group === undefined || !this.grantsTogether
        ? this.#kinds.acquire(address, tail, ttl, manners)
        : this.#kinds.acquireTogether(group, address, tail, ttl, manners)
    const id = idBefore(tail, owner)
    this.#sender.add(kind, new AcquireItem(id, traceSuffix(ask.trace), address, attempt, listener))
  }

  release(ask: OwnerAsk, attempt: Attempt): Promise<Answer<ReleaseResult>> {
    const answer = promised<ReleaseResult>((listener) => this.#sendRelease(ask, attempt, listener))
    if (this.#acknowledge !== null) this.#noteRelease(ask.address.key, answer)
    return answer
  }

  releaseFor(ask: OwnerAsk, attempt: Attempt, listener: AnswerListener<ReleaseResult>): boolean {
    if (this.#acknowledge !== null) return false
    this.#sendRelease(ask, attempt, listener)
    return true
  }

  #sendRelease(
    { address, owner }: OwnerAsk,
    attempt: Attempt,
    listener: AnswerListener<ReleaseResult>,
  ): void {
    const tail = this.#tailOf(owner)
    const item = new ReleaseItem(idBefore(tail, owner), address, attempt, listener)
    this.#sender.add(this.#kinds.release(address, tail), item)
  }

  renew(ask: RenewAsk, attempt: Attempt): Promise<Answer<RenewResult>> {
    const unfit = this.#unfit(ask.ttl)
    if (unfit !== null) return Promise.reject(unfit)
    const kind = this.#kinds.renew(this.#tailOf(ask.owner), ask.ttl)
    return promised((listener) => this.#sender.add(kind, new RenewItem(ask, attempt, listener)))
  }

  leave({ address }: LeaveAsk, attempt: Attempt): Promise<Answer<null>> {
    this.#names?.unfollow(channelOf(address, this.process))
    return this.#do(this.#kinds.leave(address), address, attempt, leaveResult, null)
  }

  inspect(address: LockAddress, attempt: Attempt): Promise<Answer<LockRecord | null>> {
    return this.#do(this.#kinds.inspect, address, attempt, inspectResult, null)
  }

  force({ address, owner }: OwnerAsk, attempt: Attempt): Promise<Answer<ForceResult>> {
    return this.#do(this.#kinds.force(address), address, attempt, forceResult, owner)
  }

  raise(ask: RaiseAsk, attempt: Attempt): Promise<Answer<RaiseResult>> {
    const kind = this.#kinds.raise(ask.address, this.#tailOf(ask.owner))
    return promised((listener) => this.#sender.add(kind, new RaiseItem(ask, attempt, listener)))
  }

  async identify(attempt: Attempt): Promise<ServerIdentity | null> {
    const [port] = await this.#link.ports(attempt.until)
    return port === undefined ? null : readIdentity(port, attempt)
  }

  listen(listener: LockListener): void {
    this.#listener = listener
    this.#wakes.listen(listener)
    // Who waits finds out that the client was closed, instead of at the next poll.
    this.#link.onEnd(() => listener.gap())
  }

  attend(needed: boolean): void {
    this.#wakes.need(needed)
  }

  close(): Promise<void> {
    this.#names?.close()
    return this.#wakes.close()
  }

  /**
   * Why there can be no such lease: a server that forgot it could grant it anew before it is over, or it could be over before the
   * replicas have answered.
   */
  #unfit(ttl: number): StoreFailure | null {
    if (this.#reopenDelay !== null && ttl > this.#reopenDelay)
      return outlastsReopening(ttl, this.#reopenDelay)
    if (this.#acknowledge !== null && ttl <= this.#acknowledge.within)
      return shorterThanWithin(ttl, this.#acknowledge.within)
    return null
  }

  #noteRelease(key: string, answer: Promise<unknown>): void {
    const settled = answer.then(
      () => undefined,
      () => undefined,
    )
    this.#releasing.set(key, settled)
    void settled.then(() => {
      if (this.#releasing.get(key) === settled) this.#releasing.delete(key)
    })
  }

  /** Hears of a name from the first "busy" on, until it is granted or the queue is left. */
  #follow(address: LockAddress, { kind }: AcquireResult, { abandoned }: Attempt): void {
    if (kind === 'granted') this.#names?.unfollow(channelOf(address, this.process))
    else if (kind === 'busy' && !abandoned) this.#names?.follow(channelOf(address, this.process), address.key)
  }

  /** Whether an exact key lies in another slot of a cluster than its queue and its fence. */
  #isApart({ key, queueKey }: LockAddress): boolean {
    return this.#link.inCluster && slotOf(key) !== slotOf(queueKey)
  }

  /** How an owner ends after its id. Nearly always as all of this process do. One without an id is all end. */
  #tailOf(owner: string): string {
    if (owner.length === this.#ownerLength && owner.endsWith(this.#tail)) return this.#tail
    return leaseIdOf(owner) === null ? owner : owner.slice(ID_CHARACTERS)
  }

  #do<R>(
    kind: CallKind,
    address: LockAddress,
    attempt: Attempt,
    read: (words: Words) => R,
    word: string | null,
  ): Promise<Answer<R>> {
    if (this.#isApart(address)) return Promise.reject(apartFromItsSideKeys(address.key))
    return promised((listener) =>
      this.#sender.add(kind, new WordItem(word, { address, attempt, read }, listener)),
    )
  }
}

const idBefore = (tail: string, owner: string): string => (tail === owner ? '' : idOf(owner))

function mannersOf({ join, stands, yield: yields }: QueueManners, reserve: number): string {
  if (join && !stands && !yields && reserve === 0) return 'j'
  return `${join ? 'j' : ''}${stands ? 's' : ''}${yields ? 'y' : ''}${reserve > 0 ? reserve : ''}`
}

function outlastsReopening(ttl: number, reopenDelay: number): StoreFailure {
  const cause = new InvalidArgumentError('ttl', ttl, {
    problem: `is longer than reopenDelay (${reopenDelay} ms): a server that comes back empty would grant it anew too soon`,
    remedy: 'Give redisStore a reopenDelay that no ttl exceeds.',
  })
  const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'ttl', cause } as const
  return new StoreFailure(cause.message, parts)
}

function apartFromItsSideKeys(key: string): StoreFailure {
  const cause = new InvalidArgumentError('key', key, {
    problem: 'has a brace, so that in a cluster it lies in another slot than what belongs to it',
    remedy: 'Give an exact key without { and }.',
  })
  const parts = { kind: 'refused', outcome: 'not-done', final: true, reason: 'key', cause } as const
  return new StoreFailure(cause.message, parts)
}
