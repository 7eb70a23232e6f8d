import assert from 'node:assert/strict'
import { Attempt } from '../store/attempt.ts'
import type { Answer, OpenStore } from '../store/contract.ts'
import { onceAddress, type OnceAddress } from '../store/once/address.ts'
import type { ClaimResult, OnceView, StoredOutcome } from '../store/once/contract.ts'
import { CONTRACT_BUDGET_MS } from './contract-budget.ts'
import { endAll } from './contract-ending.ts'
import { Pace } from './contract-pace.ts'
import type { OnceStoreBench } from './once-store-contract.ts'

const ID_LENGTH = 22
/** A time that does not end while a case runs. */
export const LONG = 3_600_000

/** What a case may do behind the store's back. */
export interface OnceDoors {
  keysWithoutExpiry(): Promise<readonly string[]>
  remove(key: string): Promise<void>
}

/** A case before a store is given. `needs` names the door without which it cannot run. */
export interface OnceCaseOutline {
  readonly name: string
  readonly needs?: keyof OnceDoors
  readonly run: (scene: OnceScene) => Promise<void>
}

/** What of a call a case seldom sets. Times are in milliseconds. */
export interface OnceWish {
  readonly id?: string
  readonly scope?: string
  readonly fingerprint?: string | null
  readonly retryAbandoned?: boolean
  readonly lease?: number
  readonly retention?: number
  readonly attempt?: Attempt
}

export const VALUE: StoredOutcome = { form: 'value', body: '{"charged":true}' }

/** The bench of one case, and the processes that were opened on it. */
export class OnceScene {
  readonly bench: OnceStoreBench
  readonly doors: OnceDoors
  readonly pace: Pace
  readonly #parties: OnceParty[] = []

  constructor(bench: OnceStoreBench, doors: OnceDoors) {
    this.bench = bench
    this.doors = doors
    this.pace = new Pace(bench.clock, bench.unit)
  }

  address({ id = this.pace.name('the key'), scope = 'the scope' }: OnceWish = {}): OnceAddress {
    return onceAddress(this.bench.prefix, 'payments', scope, id)
  }

  /** Milliseconds of that many units. */
  units(count: number): number {
    return this.pace.units(count)
  }

  pass(units: number): Promise<void> {
    return this.bench.pass(this.units(units))
  }

  owner(): string {
    return `${this.bench.randomness.id(ID_LENGTH)}@host:1`
  }

  /** Opens the store as one more process. */
  async open(): Promise<OnceParty> {
    const { clock, randomness, prefix } = this.bench
    const store = await this.bench.connect()
    const party = new OnceParty(this, store.open({ clock, randomness, prefixes: [prefix] }))
    this.#parties.push(party)
    return party
  }

  attempt(validFor = CONTRACT_BUDGET_MS): Attempt {
    const now = this.bench.clock.monotonic()
    return new Attempt(now + CONTRACT_BUDGET_MS, now + validFor)
  }

  end(): Promise<void> {
    return endAll(this.#parties, this.bench)
  }
}

/** One process on the scene. Its methods are single tries of the store's, with what a case seldom sets filled in. */
export class OnceParty {
  readonly opened: OpenStore
  readonly #scene: OnceScene

  constructor(scene: OnceScene, opened: OpenStore) {
    this.#scene = scene
    this.opened = opened
  }

  async claim(owner: string, wish: OnceWish = {}): Promise<ClaimResult> {
    const { fingerprint = null, retryAbandoned = false, lease = LONG, retention = LONG } = wish
    const address = this.#scene.address(wish)
    const ask = { address, owner, fingerprint, retryAbandoned, lease, retention }
    return this.#result(this.opened.once.claim(ask, this.#attempt(wish)))
  }

  /** Claims a key that must be free, by an owner of its own. */
  async claimed(wish: OnceWish = {}, attempt = 1): Promise<string> {
    const owner = this.#scene.owner()
    assert.deepEqual(await this.claim(owner, wish), { kind: 'claimed', attempt })
    return owner
  }

  async renew(owner: string, wish: OnceWish = {}): Promise<string> {
    const { lease = LONG, retention = LONG } = wish
    const ask = { address: this.#scene.address(wish), owner, lease, retention }
    return (await this.#result(this.opened.once.renew(ask, this.#attempt(wish)))).kind
  }

  async complete(owner: string, outcome = VALUE, wish: OnceWish = {}): Promise<string> {
    const { fingerprint = null, retention = LONG } = wish
    const ask = { address: this.#scene.address(wish), owner, attempt: 1, fingerprint, outcome, retention }
    return (await this.#result(this.opened.once.complete(ask, this.#attempt(wish)))).kind
  }

  async free(owner: string, started = true, wish: OnceWish = {}): Promise<string> {
    const { retention = LONG } = wish
    const ask = { address: this.#scene.address(wish), owner, started, retention }
    return (await this.#result(this.opened.once.free(ask, this.#attempt(wish)))).kind
  }

  async settle(owner: string, outcome: StoredOutcome | null, wish: OnceWish = {}): Promise<string> {
    const { retention = LONG } = wish
    const ask = { address: this.#scene.address(wish), owner, outcome, retention }
    return (await this.#result(this.opened.once.settle(ask, this.#attempt(wish)))).kind
  }

  inspect(wish: OnceWish = {}): Promise<OnceView | null> {
    return this.#result(this.opened.once.inspect(this.#scene.address(wish), this.#attempt(wish)))
  }

  #attempt({ attempt = this.#scene.attempt() }: OnceWish): Attempt {
    return attempt
  }

  async #result<R>(answer: Promise<Answer<R>>): Promise<R> {
    const { result, serverTime } = await answer
    assert.ok(Number.isFinite(serverTime) && serverTime > 0, "an answer tells the store's time")
    return result
  }
}
