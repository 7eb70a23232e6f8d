import assert from 'node:assert/strict'
import { lockAddress, type LockAddress } from '../name.ts'
import { Attempt } from '../store/attempt.ts'
import type {
  AcquireResult,
  Answer,
  AskGroup,
  ForceResult,
  LockRecord,
  LockStore,
  OpenStore,
  QueueManners,
  ReleaseResult,
  RenewResult,
  StoreTraits,
} from '../store/contract.ts'
import { OwnerMint } from '../store/owner.ts'
import { CONTRACT_BUDGET_MS } from './contract-budget.ts'
import { endAll } from './contract-ending.ts'
import { Pace } from './contract-pace.ts'
import type { LockStoreBench } from './lock-store-contract.ts'

/** What a case may do behind the store's back. */
export interface Doors {
  remove(key: string): Promise<void>
  put(key: string, value: string, ttl: number | null): Promise<void>
  keysWithoutExpiry(): Promise<readonly string[]>
}

/** A case before a store is given. `needs` tells whether it applies. */
export interface CaseOutline {
  readonly name: string
  readonly needs?: (traits: StoreTraits, doors: Record<keyof Doors, boolean>) => boolean
  readonly run: (scene: Scene) => Promise<void>
}

export const QUIET: QueueManners = { join: false, stands: false, yield: false }
export const JOIN: QueueManners = { join: true, stands: true, yield: false }
export const YIELD: QueueManners = { join: false, stands: false, yield: true }

/** How long a push may take, in units. */
const PUSH_UNITS = 60

export interface AcquireWish {
  readonly ttl?: number
  readonly queue?: QueueManners
  readonly trace?: string | null
  readonly reserve?: number
  readonly group?: AskGroup
  readonly address?: LockAddress
  readonly attempt?: Attempt
}

/** The bench of one case, and the processes that were opened on it. */
export class Scene {
  readonly bench: LockStoreBench
  readonly traits: StoreTraits
  readonly doors: Doors
  readonly pace: Pace
  readonly #parties: Party[] = []

  constructor(bench: LockStoreBench, traits: StoreTraits, doors: Doors) {
    this.bench = bench
    this.traits = traits
    this.doors = doors
    this.pace = new Pace(bench.clock, bench.unit)
  }

  /** The lock that a case is about when it names no other. */
  get lock(): LockAddress {
    return this.address(this.pace.name('the lock'))
  }

  address(name: string): LockAddress {
    return lockAddress(this.bench.prefix, name)
  }

  /** Milliseconds of that many units. */
  units(count: number): number {
    return this.pace.units(count)
  }

  pass(units: number): Promise<void> {
    return this.bench.pass(this.units(units))
  }

  /** Opens the store as one more process. */
  async open(): Promise<Party> {
    const { clock, randomness, prefix } = this.bench
    const store = await this.bench.connect()
    assert.deepEqual(store.traits, this.traits, 'the traits of the store are those that the suite was given')
    const party = new Party(this, store.open({ clock, randomness, prefixes: [prefix] }))
    this.#parties.push(party)
    return party
  }

  /** Opens the store as a process that hears pushes from now on. */
  async openListening(): Promise<Party> {
    const party = await this.open()
    party.locks.attend(true)
    // A store that has to subscribe says when that is done; one that need not has nothing to say.
    await this.#passUntil(() => party.heard.gaps > 0)
    return party
  }

  /** Lets time pass until a push has come. */
  async eventually(condition: () => boolean, what: string): Promise<void> {
    await this.#passUntil(condition)
    assert.ok(condition(), `${what} within ${this.units(PUSH_UNITS)} ms`)
  }

  attempt(validFor = CONTRACT_BUDGET_MS): Attempt {
    const now = this.bench.clock.monotonic()
    return new Attempt(now + CONTRACT_BUDGET_MS, now + validFor)
  }

  end(): Promise<void> {
    for (const { locks } of this.#parties) locks.attend(false)
    return endAll(this.#parties, this.bench)
  }

  async #passUntil(condition: () => boolean): Promise<void> {
    for (let i = 0; i < PUSH_UNITS * 4 && !condition(); i += 1) await this.pass(0.25)
  }
}

/** What a process was told by pushes. */
export interface Heard {
  readonly wakes: string[]
  readonly forced: { key: string; owner: string }[]
  gaps: number
}

/** One process on the scene. Its methods are single tries of the store's, with what a case seldom sets filled in. */
export class Party {
  readonly locks: LockStore
  readonly opened: OpenStore
  readonly heard: Heard = { wakes: [], forced: [], gaps: 0 }
  readonly #scene: Scene
  readonly #mint: OwnerMint

  constructor(scene: Scene, opened: OpenStore) {
    this.#scene = scene
    this.opened = opened
    this.locks = opened.locks
    assert.match(this.locks.process, /^[A-Za-z0-9_-]{14}$/, 'a process is named by 14 url-safe characters')
    this.#mint = new OwnerMint(this.locks.process)
    this.locks.listen({
      wake: (key) => this.heard.wakes.push(key),
      forced: (key, owner) => this.heard.forced.push({ key, owner }),
      gap: () => (this.heard.gaps += 1),
      moved: () => undefined,
    })
  }

  /** An owner that was not used before. */
  owner(): string {
    return this.#mint.next()
  }

  async acquire(owner: string, wish: AcquireWish = {}): Promise<AcquireResult> {
    return (await this.acquireAnswer(owner, wish)).result
  }

  async acquireAnswer(owner: string, wish: AcquireWish = {}): Promise<Answer<AcquireResult>> {
    const {
      ttl = this.#scene.units(200),
      queue = QUIET,
      trace = null,
      address = this.#scene.lock,
      reserve = 0,
      group,
    } = wish
    return checked(
      await this.locks.acquire(
        { address, owner, trace, ttl, queue, reserve, group },
        wish.attempt ?? this.#scene.attempt(),
      ),
    )
  }

  /** Acquires what is known to be free, and tells the fence. */
  async grant(owner: string, wish: AcquireWish = {}): Promise<bigint> {
    const result = await this.acquire(owner, wish)
    assert.equal(result.kind, 'granted', 'a free lock is granted')
    return (result as { fence: bigint }).fence
  }

  /** Stands in the queue of a lock that is known to be held. */
  async join(address = this.#scene.lock): Promise<void> {
    const result = await this.acquire(this.owner(), { queue: JOIN, address })
    assert.equal(result.kind, 'busy', 'a held lock is busy')
  }

  async release(owner: string, address = this.#scene.lock): Promise<ReleaseResult> {
    return checked(await this.locks.release({ address, owner }, this.#scene.attempt())).result
  }

  async renew(
    owner: string,
    fence: bigint,
    { ttl = this.#scene.units(200), attempt = this.#scene.attempt(), address = this.#scene.lock } = {},
  ): Promise<RenewResult> {
    return checked(await this.locks.renew({ address, owner, fence, ttl }, attempt)).result
  }

  async leave(address = this.#scene.lock): Promise<void> {
    checked(await this.locks.leave({ address }, this.#scene.attempt()))
  }

  async inspect(address = this.#scene.lock): Promise<LockRecord | null> {
    return checked(await this.locks.inspect(address, this.#scene.attempt())).result
  }

  /** The record of a lock that is known to be held. */
  async record(address = this.#scene.lock): Promise<LockRecord & { remaining: number }> {
    const record = await this.inspect(address)
    assert.ok(record !== null, 'the lock is held')
    assert.ok(record.remaining !== null, 'a lock of ours has an expiry')
    return { ...record, remaining: record.remaining }
  }

  async force(owner: string, address = this.#scene.lock): Promise<ForceResult> {
    return checked(await this.locks.force({ address, owner }, this.#scene.attempt())).result
  }
}

function checked<R>(answer: Answer<R>): Answer<R> {
  assert.ok(
    Number.isInteger(answer.serverTime) && answer.serverTime > 0,
    `serverTime ${answer.serverTime} is in whole ms`,
  )
  assert.equal(typeof answer.maybeTwice, 'boolean')
  return answer
}
