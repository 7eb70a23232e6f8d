import { limitAddress, type LimitAddress } from '../../../holdfast/src/name.ts'
import { Schedule } from '../../../holdfast/src/schedule.ts'
import { Attempt } from '../../../holdfast/src/store/attempt.ts'
import type { Answer } from '../../../holdfast/src/store/contract.ts'
import type {
  AdjustResult,
  LimitStore,
  PolicyVerdict,
  TakeResult,
  Verdict,
} from '../../../holdfast/src/store/limit/contract.ts'
import type { Policy } from '../../../holdfast/src/store/limit/policy.ts'
import { Operation, type OperationContext, type Outcome } from '../../../holdfast/src/store/operation.ts'
import { redisStore } from 'holdfast/redis'
import { systemClock, systemRandomness } from 'holdfast/testing'
import { connectClient, type ClientKind, type ConnectedClient } from '../../src/clients.ts'
import { startProxy, type ProxiedCommand, type RedisServer, type TcpProxy } from '../../src/index.ts'
import { limitScripts } from './clocked-port.ts'

const PREFIX_START = 'limits'
/** Generous, but for the tests that say otherwise: they share the machine. */
const BUDGET_MS = 3_000

let scenes = 0

export interface LimitSceneOptions {
  readonly kind?: ClientKind
  readonly budget?: number
}

export interface TakeWish {
  readonly cost?: number
  readonly id?: string
  readonly countDenied?: boolean
  readonly returnAfter?: number | null
}

/** A limit store whose only way to the server is a proxy, and a look at the server past it. Each has a prefix of its own. */
export class LimitScene {
  readonly server: RedisServer
  readonly proxy: TcpProxy
  readonly prefix: string
  readonly limits: LimitStore
  readonly budget: number
  readonly #client: ConnectedClient
  readonly #close: () => Promise<void>

  private constructor(
    server: RedisServer,
    proxy: TcpProxy,
    client: ConnectedClient,
    prefix: string,
    budget: number,
  ) {
    this.server = server
    this.proxy = proxy
    this.prefix = prefix
    this.budget = budget
    this.#client = client
    const context = { clock: systemClock, randomness: systemRandomness, prefixes: [prefix] }
    const opened = redisStore(client.client).open(context)
    this.limits = opened.limits
    this.#close = () => opened.close()
  }

  static async open(server: RedisServer, { kind = 'ioredis', budget = BUDGET_MS }: LimitSceneOptions = {}) {
    const proxy = await startProxy({ target: server, record: true })
    const client = await connectClient(kind, proxy.url)
    return new LimitScene(server, proxy, client, `${PREFIX_START}${(scenes += 1)}:v1`, budget)
  }

  address(subject: string): LimitAddress {
    return limitAddress(this.prefix, 'api', subject)
  }

  /** A take as a limiter makes it: with a budget, and asked again while that lasts. */
  take(subject: string, policies: readonly Policy[], wish: TakeWish = {}): Promise<Outcome<TakeResult>> {
    const { cost = 1, id = systemRandomness.id(22), countDenied = false, returnAfter = null } = wish
    const ask = { address: this.address(subject), policies, cost, id, countDenied, returnAfter }
    return this.#operation('take', (attempt) => this.limits.take(ask, attempt))
  }

  adjust(
    subject: string,
    policies: readonly Policy[],
    change: { take: string; at: number; taken: number; cost: number },
  ): Promise<Outcome<AdjustResult>> {
    const ask = { address: this.address(subject), policies, id: systemRandomness.id(22), ...change }
    return this.#operation('adjust', (attempt) => this.limits.adjust(ask, attempt))
  }

  /** A take that must be decided. */
  async decided(subject: string, policies: readonly Policy[], wish?: TakeWish): Promise<Verdict> {
    return verdictOf(await this.take(subject, policies, wish))
  }

  async peek(subject: string, policies: readonly Policy[], cost = 1): Promise<Verdict> {
    const { result } = await this.limits.peek(
      { address: this.address(subject), policies, cost },
      this.attempt(),
    )
    return result
  }

  /** One try with time enough. */
  attempt(): Attempt {
    const until = systemClock.monotonic() + this.budget
    return new Attempt(until, until)
  }

  /** Keys of subjects, without replies that are kept. */
  async keys(): Promise<string[]> {
    const keys = (await this.server.command('KEYS', `${this.prefix}:*`)) as string[]
    return keys.filter((key) => !key.startsWith(`${this.prefix}:{limits}:reply:`)).sort()
  }

  /** Every key under the prefix that would stay for ever. */
  async endless(): Promise<string[]> {
    const keys = (await this.server.command('KEYS', `${this.prefix}:*`)) as string[]
    const left = await Promise.all(keys.map((key) => this.server.command('PTTL', key)))
    return keys.filter((_, i) => left[i] === -1)
  }

  /** So that the server's time is known, and our scripts to the server. */
  async warmUp(policies: readonly Policy[]): Promise<void> {
    await this.decided('warm-up', policies)
    await this.peek('warm-up', policies)
    this.proxy.resetCounts()
  }

  async end(): Promise<void> {
    this.server.resume()
    await this.proxy.heal()
    await this.#close()
    this.#client.close()
    await this.proxy.close()
  }

  #operation<R extends { readonly kind: string }>(
    what: string,
    ask: (attempt: Attempt) => Promise<Answer<R>>,
  ): Promise<Outcome<R>> {
    const plan = { what, ask, isLate: ({ kind }: R) => kind === 'late' }
    return new Operation(OPERATIONS, plan, this.budget).run()
  }
}

const OPERATIONS: OperationContext = {
  clock: systemClock,
  storeKind: 'redis',
  foreground: new Schedule(systemClock, { keepAlive: true }),
  schedule: new Schedule(systemClock),
}

export function verdictOf(outcome: Outcome<TakeResult>): Verdict {
  if (outcome.kind !== 'done') throw outcome.failure
  const { result } = outcome.answer
  if (result.kind !== 'decided') throw new Error('an operation that is done is not late')
  return result
}

/** What the first policy said. */
export function firstOf({ policies: [first] }: Verdict): PolicyVerdict {
  if (first === undefined) throw new Error('there is no policy')
  return first
}

const script =
  (...names: readonly string[]) =>
  ({ name, args: [what] }: Pick<ProxiedCommand, 'name' | 'args'>): boolean =>
    limitScripts.some(
      (each) =>
        names.includes(each.name) &&
        ((name === 'EVALSHA' && what === each.sha1) || (name === 'EVAL' && what === each.source)),
    )

/** Calls that count: asked for the first time, or again. */
export const isCount = script('limit-count', 'limit-recount')
export const isFirstCount = script('limit-count')
export const isRecount = script('limit-recount')

/** A policy of every kind, all with the same limit and span. */
export function everyKind(limit: number, per: number): readonly Policy[] {
  return [
    { kind: 'fixed-window', name: 'fixed', limit, per },
    { kind: 'sliding-window', name: 'window', limit, per },
    { kind: 'sliding-counter', name: 'counter', limit, per },
    { kind: 'token-bucket', name: 'tokens', capacity: limit, refill: limit, per },
    { kind: 'leaky-bucket', name: 'leak', capacity: limit, rate: limit, per },
    { kind: 'concurrency', name: 'slots', limit, lease: per },
  ]
}
