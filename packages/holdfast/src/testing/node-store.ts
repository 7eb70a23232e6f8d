import type { Clock } from '../clock.ts'
import type { LockAddress } from '../name.ts'
import type { Attempt } from '../store/attempt.ts'
import type {
  AcquireAsk,
  AcquireResult,
  Answer,
  LockListener,
  LockRecord,
  LockStore,
  OpenStore,
  ServerIdentity,
  Store,
  StoreContext,
} from '../store/contract.ts'
import { StoreFailure } from '../store/failure.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { seededRandomness } from './seeded-randomness.ts'

/** How a node differs from others. */
export interface NodeOptions {
  /** Who it says it is; nothing when left out. */
  readonly identity?: ServerIdentity
  /** Its own clock: milliseconds by which it is ahead, and how much faster it runs. */
  readonly ahead?: number
  readonly faster?: number
  /** After a restart it grants nothing for so many milliseconds. */
  readonly reopensAfter?: number
}

/** A server in memory that can be restarted without its data, and has a clock of its own. For tests of quorums. */
export class NodeStore implements Store {
  readonly kind = 'memory'
  readonly traits = memoryStore().traits
  readonly options: NodeOptions
  readonly #clock: Clock
  readonly #openings: NodeLocks[] = []
  #memory: Store
  /** Monotonic milliseconds: until then it refuses, and until then it does not say who it is. */
  opensAt = -Infinity
  silentUntil = -Infinity
  #listener: StoreContext | null = null

  constructor(clock: Clock, options: NodeOptions = {}) {
    this.#clock = clock
    this.options = options
    this.#memory = this.#empty()
  }

  open(context: StoreContext): OpenStore {
    const inner = this.#memory.open(context)
    const locks = new NodeLocks(inner.locks, this, context)
    this.#openings.push(locks)
    return { locks, limits: inner.limits, once: inner.once, close: () => inner.close() }
  }

  /** It comes back at once, and has forgotten everything. */
  restart(): void {
    this.opensAt = this.#clock.monotonic() + (this.options.reopensAfter ?? 0)
    this.#memory = this.#empty()
    for (const opening of this.#openings) opening.reopen(this.#memory)
  }

  /** What lies at a key, as the server itself sees it. */
  async record(address: LockAddress): Promise<LockRecord | null> {
    const context = this.#listener as StoreContext
    const opened = this.#memory.open({ ...context, randomness: seededRandomness(8) })
    const now = this.#clock.monotonic()
    const { result } = await opened.locks.inspect(address, {
      until: now + 1_000,
      validUntil: now + 1_000,
      abandoned: false,
      afterSilence: false,
      sent: null,
      notAfter: null,
      againUntil: null,
    })
    await opened.close()
    return result
  }

  /** A memory store goes by the clock of the first who opens it. */
  #empty(): Store {
    const { ahead = 0, faster = 0 } = this.options
    const base = this.#clock
    const start = base.monotonic()
    const clock: Clock = {
      monotonic: () => base.monotonic() + (base.monotonic() - start) * faster,
      wall: () => base.wall() + ahead,
      setTimer: (run, ms, options) => base.setTimer(run, ms, options),
      endOfTurn: (run) => base.endOfTurn(run),
    }
    const memory = memoryStore()
    this.#listener = { clock, randomness: seededRandomness(7), prefixes: [] }
    memory.open(this.#listener)
    return memory
  }
}

class NodeLocks implements LockStore {
  readonly process: string
  readonly identify?: (attempt: Attempt) => Promise<ServerIdentity | null>
  readonly #node: NodeStore
  readonly #context: StoreContext
  #inner: LockStore
  #listener: LockListener | null = null

  constructor(inner: LockStore, node: NodeStore, context: StoreContext) {
    this.process = inner.process
    this.#inner = inner
    this.#node = node
    this.#context = context
    const { identity } = node.options
    if (identity === undefined) return
    this.identify = async () => {
      if (context.clock.monotonic() < node.silentUntil) await new Promise(() => {})
      return identity
    }
  }

  reopen(memory: Store): void {
    // Under the same name, as a process keeps its own when its server restarts.
    const randomness = { ...this.#context.randomness, id: () => this.process }
    this.#inner = memory.open({ ...this.#context, randomness }).locks
    if (this.#listener !== null) this.#inner.listen(this.#listener)
  }

  acquire(ask: AcquireAsk, attempt: Attempt): Promise<Answer<AcquireResult>> {
    if (this.#context.clock.monotonic() >= this.#node.opensAt) return this.#inner.acquire(ask, attempt)
    return Promise.reject(
      new StoreFailure('the server has just been restarted', {
        kind: 'refused',
        outcome: 'not-done',
        final: false,
        reason: 'REOPENING',
      }),
    )
  }

  release: LockStore['release'] = (ask, attempt) => this.#inner.release(ask, attempt)
  renew: LockStore['renew'] = (ask, attempt) => this.#inner.renew(ask, attempt)
  leave: LockStore['leave'] = (ask, attempt) => this.#inner.leave(ask, attempt)
  inspect: LockStore['inspect'] = (address, attempt) => this.#inner.inspect(address, attempt)
  force: LockStore['force'] = (ask, attempt) => this.#inner.force(ask, attempt)
  raise: Required<LockStore>['raise'] = (ask, attempt) =>
    (this.#inner as Required<LockStore>).raise(ask, attempt)

  listen(listener: LockListener): void {
    this.#listener = listener
    this.#inner.listen(listener)
  }

  attend(needed: boolean): void {
    this.#inner.attend(needed)
  }
}
