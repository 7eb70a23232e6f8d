import assert from 'node:assert/strict'
import { limitAddress, type LimitAddress } from '../name.ts'
import { Attempt } from '../store/attempt.ts'
import type { Answer, OpenStore } from '../store/contract.ts'
import type {
  AdjustResult,
  LimitStore,
  PolicyVerdict,
  RenewSlotResult,
  TakeResult,
  Verdict,
} from '../store/limit/contract.ts'
import type { Policy, PolicyKind } from '../store/limit/policy.ts'
import { CONTRACT_BUDGET_MS } from './contract-budget.ts'
import { endAll } from './contract-ending.ts'
import { Pace } from './contract-pace.ts'
import type { LimitStoreBench } from './limit-store-contract.ts'

const ID_LENGTH = 22
/** A span that does not end while a case runs, and at whose edge none runs. */
export const LONG = 300 * 86_400_000
/** Tries of a case that must not meet the edge of a window. */
const TRIES = 5

/** What a case may do behind the store's back. */
export interface LimitDoors {
  keys(): Promise<readonly string[]>
  keysWithoutExpiry(): Promise<readonly string[]>
}

/** A case before a store is given. `needs` tells whether it applies. */
export interface LimitCaseOutline {
  readonly name: string
  readonly needs?: (doors: Record<keyof LimitDoors, boolean>) => boolean
  readonly run: (scene: LimitScene) => Promise<void>
}

/** What of a call a case seldom sets. */
export interface LimitWish {
  readonly subject?: string
  readonly id?: string
  readonly countDenied?: boolean
  readonly returnAfter?: number | null
  readonly attempt?: Attempt
}

/** A take as it was made, with its verdict. */
export interface Taken extends Verdict {
  readonly id: string
  readonly cost: number
}

export const KINDS: readonly PolicyKind[] = [
  'fixed-window',
  'sliding-window',
  'sliding-counter',
  'token-bucket',
  'leaky-bucket',
  'concurrency',
]

/** A policy of any kind that lets `limit` pass at once, and as many again within `per`. */
export function policyOf(kind: PolicyKind, limit: number, per: number, name: string = kind): Policy {
  switch (kind) {
    case 'token-bucket':
      return { kind, name, capacity: limit, refill: limit, per }
    case 'leaky-bucket':
      return { kind, name, capacity: limit, rate: limit, per }
    case 'concurrency':
      return { kind, name, limit, lease: per }
    case 'fixed-window':
    case 'sliding-window':
    case 'sliding-counter':
      return { kind, name, limit, per }
  }
}

/** The bench of one case, and the processes that were opened on it. */
export class LimitScene {
  readonly bench: LimitStoreBench
  readonly doors: LimitDoors
  readonly pace: Pace
  readonly #parties: LimitParty[] = []

  constructor(bench: LimitStoreBench, doors: LimitDoors) {
    this.bench = bench
    this.doors = doors
    this.pace = new Pace(bench.clock, bench.unit)
  }

  /** Of a subject of the limiter that a case is about. */
  address(subject = this.pace.name('the subject'), limiter = 'the limiter'): LimitAddress {
    return limitAddress(this.bench.prefix, limiter, subject)
  }

  /** Milliseconds of that many units. */
  units(count: number): number {
    return this.pace.units(count)
  }

  pass(units: number): Promise<void> {
    return this.bench.pass(this.units(units))
  }

  id(): string {
    return this.bench.randomness.id(ID_LENGTH)
  }

  /** Opens the store as one more process. */
  async open(): Promise<LimitParty> {
    const { clock, randomness, prefix } = this.bench
    const store = await this.bench.connect()
    const party = new LimitParty(this, store.open({ clock, randomness, prefixes: [prefix] }))
    this.#parties.push(party)
    return party
  }

  attempt(validFor = CONTRACT_BUDGET_MS): Attempt {
    const now = this.bench.clock.monotonic()
    return new Attempt(now + CONTRACT_BUDGET_MS, now + validFor)
  }

  /** Lets time pass until the store's clock has reached `time`: exactly where time can be told to stand still, else later. */
  async reach(time: number, party: LimitParty): Promise<void> {
    for (;;) {
      const left = time - (await party.now())
      if (left <= 0) return
      await this.bench.pass(left)
    }
  }

  /**
   * Runs a case that must not meet the edge of a window: begins soon after one, and runs it again on another subject when
   * the store's clock had reached the next by the end.
   */
  async withinWindow(per: number, party: LimitParty, run: (subject: string) => Promise<void>): Promise<void> {
    for (let i = 0; ; i += 1) {
      const start = await party.now()
      if (start % per > per / 4) await this.reach(start - (start % per) + per, party)
      const window = Math.floor((await party.now()) / per)
      try {
        await run(`subject ${i}`)
        return
      } catch (error) {
        const stayed = Math.floor((await party.now()) / per) === window
        if (stayed || i >= TRIES) throw error
      }
    }
  }

  end(): Promise<void> {
    return endAll(this.#parties, this.bench)
  }
}

/** One process on the scene. Its methods are single tries of the store's, with what a case seldom sets filled in. */
export class LimitParty {
  readonly limits: LimitStore
  readonly opened: OpenStore
  readonly #scene: LimitScene

  constructor(scene: LimitScene, opened: OpenStore) {
    this.#scene = scene
    this.opened = opened
    this.limits = opened.limits
  }

  /** The store's clock. */
  async now(): Promise<number> {
    const policies = [policyOf('token-bucket', 1, 1_000)]
    const ask = { address: this.#scene.address('nobody', 'a clock'), policies, cost: 1 }
    return Math.floor((await this.limits.peek(ask, this.#scene.attempt())).serverTime)
  }

  /** Takes in time. */
  async take(policies: readonly Policy[], cost = 1, wish: LimitWish = {}): Promise<Taken> {
    const { id = this.#scene.id() } = wish
    const { result } = await this.tryTake(policies, cost, { ...wish, id })
    assert.ok(result.kind === 'decided', `a take in time was answered ${result.kind}`)
    assert.equal(result.policies.length, policies.length, 'a verdict of each policy')
    return { ...result, id, cost }
  }

  async tryTake(policies: readonly Policy[], cost = 1, wish: LimitWish = {}): Promise<Answer<TakeResult>> {
    const { subject, id = this.#scene.id(), countDenied = false, returnAfter = null } = wish
    const ask = { address: this.#scene.address(subject), policies, cost, id, countDenied, returnAfter }
    return checked(await this.limits.take(ask, wish.attempt ?? this.#scene.attempt()))
  }

  async peek(policies: readonly Policy[], cost = 1, { subject }: LimitWish = {}): Promise<Verdict> {
    const ask = { address: this.#scene.address(subject), policies, cost }
    return checked(await this.limits.peek(ask, this.#scene.attempt())).result
  }

  /** Changes what a take counted, in time. Tells whether there was anything to change. */
  async adjust(
    policies: readonly Policy[],
    taken: Taken,
    cost: number,
    wish: LimitWish = {},
  ): Promise<boolean> {
    const { result } = await this.tryAdjust(policies, taken, cost, wish)
    assert.ok(result.kind === 'done', `an adjust in time was answered ${result.kind}`)
    return result.adjusted
  }

  async tryAdjust(
    policies: readonly Policy[],
    { id: take, at, cost: taken }: Taken,
    cost: number,
    wish: LimitWish = {},
  ): Promise<Answer<AdjustResult>> {
    const { subject, id = this.#scene.id(), attempt = this.#scene.attempt() } = wish
    const ask = { address: this.#scene.address(subject), policies, take, id, at, taken, cost }
    return checked(await this.limits.adjust(ask, attempt))
  }

  async renew(
    policies: readonly Policy[],
    take: string,
    { subject, attempt = this.#scene.attempt() }: LimitWish = {},
  ): Promise<RenewSlotResult['kind']> {
    const ask = { address: this.#scene.address(subject), policies, take }
    return checked(await this.limits.renew(ask, attempt)).result.kind
  }

  async reset(policies: readonly Policy[], subject?: string): Promise<void> {
    checked(
      await this.limits.reset({ address: this.#scene.address(subject), policies }, this.#scene.attempt()),
    )
  }

  async block(policies: readonly Policy[], duration: number, subject?: string): Promise<void> {
    const ask = { address: this.#scene.address(subject), policies, duration }
    checked(await this.limits.block(ask, this.#scene.attempt()))
  }
}

function checked<R>(answer: Answer<R>): Answer<R> {
  assert.ok(Number.isFinite(answer.serverTime) && answer.serverTime > 0, "an answer tells the store's time")
  return answer
}

/** What the only policy of a verdict says. */
export function only({ policies }: Verdict): PolicyVerdict {
  const [verdict] = policies
  assert.ok(verdict !== undefined && policies.length === 1)
  return verdict
}

/** That a take was admitted, with so much left under its only policy. */
export function assertAdmitted(verdict: Verdict, remaining: number, what = 'the take'): void {
  const { allowed, never, retryAfter, remaining: left } = only(verdict)
  assert.deepEqual(
    { admitted: verdict.allowed, allowed, never, retryAfter, left },
    { admitted: true, allowed: true, never: false, retryAfter: 0, left: remaining },
    what,
  )
}

/** That a take was denied for now, with so much left under its only policy. */
export function assertDenied(verdict: Verdict, remaining: number, what = 'the take'): void {
  const { allowed, never, retryAfter, remaining: left, delay } = only(verdict)
  assert.deepEqual(
    { admitted: verdict.allowed, allowed, never, left, delay },
    { admitted: false, allowed: false, never: false, left: remaining, delay: 0 },
    what,
  )
  assert.ok(Number.isInteger(retryAfter) && retryAfter > 0, `${what}: retryAfter is ${retryAfter}`)
}
