import { answered } from '../answered.ts'
import { LockTimeoutError } from '../errors.ts'
import { lockAddresses } from '../name.ts'
import { checkFunction } from '../options.ts'
import { HeldAll, type NamedLease } from './held-all.ts'
import type { TryRunResult } from './lock.ts'
import {
  checkLockAllOptions,
  checkNames,
  type AcquireAllOptions,
  type LockAllOptions,
} from './lock-all-options.ts'
import { Obtainer, type LockContext, type Obtained } from './obtainer.ts'
import { checkAcquireOptions, type CheckedAcquireOptions, type CheckedLockOptions } from './options.ts'
import { runHeld } from './running.ts'

/** So often all are asked for in one step while nobody is seen to hold any of them. More than twice is rare. */
const TRIES_TOGETHER = 3

/** How long somebody waits: up to a budget beyond the end of his wait, in monotonic milliseconds, or until he has gone. */
interface Patience {
  readonly until: number
  readonly signal: AbortSignal | null
}

/** One name, and how its lock is got. */
interface Part {
  readonly name: string
  readonly obtainer: Obtainer
}

/** All of them, or which of them is held by whom. */
type ObtainedAll =
  { readonly leases: readonly NamedLease[] } | { readonly name: string; readonly holder: string | null }

/**
 * Several exclusive locks that are had together: all of them, or none. They are taken in the order of their keys, whatever the order
 * in which they are given, so that two who want the same ones never wait for each other. The same names by {@link Lock} and by
 * this exclude each other.
 *
 * A flow that holds one of them already, by a lock of its own, waits for itself: this is not reentrant.
 */
export class LockAll {
  /** In the order in which they were given. */
  readonly names: readonly string[]
  readonly #context: LockContext
  readonly #options: CheckedLockOptions
  /** In the order in which they are taken. */
  readonly #parts: readonly Part[]

  /** Made by `hf.lockAll()`. */
  constructor(context: LockContext, names: readonly string[], options?: LockAllOptions) {
    this.names = checkNames(names)
    this.#context = context
    this.#options = checkLockAllOptions(options)
    this.#parts = this.names
      .map((name) => ({ name, addresses: lockAddresses(context.prefixes, name) }))
      .sort((one, other) => order(one.addresses[0]?.key ?? '', other.addresses[0]?.key ?? ''))
      .map(({ name, addresses }) => ({
        name,
        obtainer: new Obtainer(context, name, this.#options, addresses),
      }))
  }

  /**
   * Takes all of them, waiting up to `wait` for all together. One round trip when all are free and the store can do it in one step
   * (one Redis server); else one for each name, in order, and while it waits for one it holds those before it. Settles within
   * `wait` plus one budget plus 100 ms. When it rejects, all that was had is given back; only where the store does not answer in that time, or
   * the signal aborted, none of them stays on the store beyond the budget.
   *
   * @throws LockTimeoutError (says which one, and who holds it), StoreUnavailableError, StoreRefusedError, ClosedError,
   *   InvalidArgumentError, or the signal's reason
   */
  async acquire(options?: AcquireAllOptions): Promise<HeldAll> {
    return this.#acquire(options, 'acquire')
  }

  /** Takes all of them if all are free now, else `null` and none. Never waits for a holder. Throws as `acquire` does. */
  async tryAcquire(options?: Omit<AcquireAllOptions, 'wait'>): Promise<HeldAll | null> {
    const obtained = await this.#tryObtain(options, 'tryAcquire')
    return 'leases' in obtained ? new HeldAll(this.names, obtained.leases) : null
  }

  /**
   * Runs `work` while holding all of them, and gives them back. Waits as `acquire` does, and ends as `lock.run` does.
   *
   * @throws what the work throws; LockLostError; and as `acquire` does, in which case the work did not run
   */
  async run<T>(work: (held: HeldAll) => T | PromiseLike<T>, options?: AcquireAllOptions): Promise<T> {
    checkFunction(work, 'work', 'locks.run(async (held) => { … })')
    const held = await this.#acquire(options, 'run')
    return runHeld(held, async () => work(held))
  }

  /** As {@link run}, but only if all of them are free now. */
  async tryRun<T>(
    work: (held: HeldAll) => T | PromiseLike<T>,
    options?: Omit<AcquireAllOptions, 'wait'>,
  ): Promise<TryRunResult<T>> {
    checkFunction(work, 'work', 'locks.tryRun(async (held) => { … })')
    const obtained = await this.#tryObtain(options, 'tryRun')
    if (!('leases' in obtained)) return { ran: false, holder: obtained.holder }
    const held = new HeldAll(this.names, obtained.leases)
    return { ran: true, value: await runHeld(held, async () => work(held)) }
  }

  async #acquire(options: AcquireAllOptions | undefined, where: string): Promise<HeldAll> {
    const checked = checkAcquireOptions(options, this.#options, where, ['signal', 'wait', 'ttl'])
    const begun = this.#context.engine.clock.monotonic()
    const obtained = await this.#obtain(checked)
    if ('leases' in obtained) return new HeldAll(this.names, obtained.leases)
    const waited = this.#context.engine.clock.monotonic() - begun
    throw new LockTimeoutError(obtained.name, waited, obtained.holder)
  }

  #tryObtain(options: Omit<AcquireAllOptions, 'wait'> | undefined, where: string): Promise<ObtainedAll> {
    const checked = checkAcquireOptions(options, this.#options, where, ['signal', 'ttl'])
    return this.#obtain({ ...checked, wait: 0 })
  }

  async #obtain(options: CheckedAcquireOptions): Promise<ObtainedAll> {
    const { engine, prefixes } = this.#context
    engine.assertOpen()
    if (options.signal?.aborted === true) throw options.signal.reason
    const until = engine.clock.monotonic() + options.wait
    const patience = { until, signal: options.signal }
    if (engine.store.grantsTogether === true && prefixes.length === 1 && this.#parts.length > 1) {
      for (let i = 0; i < TRIES_TOGETHER; i += 1) {
        const together = await this.#together(options, patience)
        if ('leases' in together) return together
        // Nobody was seen to hold any: a late copy, or a dead owner of our own that is cleared away by now.
        if (together.holder === null) continue
        if (options.wait === 0) return together
        break
      }
    }
    for (;;) {
      const left = Math.max(0, until - engine.clock.monotonic())
      const obtained = await this.#inOrder({ ...options, wait: options.wait === 0 ? 0 : left }, until)
      // What was taken first may be over by the time the last one is had, if it is not renewed.
      if (!('leases' in obtained) || obtained.leases.every(([, lease]) => lease.lost === null))
        return obtained
      void this.#giveBack(obtained.leases, patience)
      const [lost = ''] = obtained.leases.find(([, lease]) => lease.lost !== null) ?? []
      if (engine.clock.monotonic() >= until) return { name: lost, holder: null }
    }
  }

  /** Asks for all of them in one turn, as one atomic step. */
  async #together(options: CheckedAcquireOptions, patience: Patience): Promise<ObtainedAll> {
    const group = { size: this.#parts.length }
    const settled = await Promise.allSettled(
      this.#parts.map((part) => this.#one(part, { ...options, wait: 0, group })),
    )
    const leases: NamedLease[] = []
    let failed: PromiseRejectedResult | null = null
    let busy: { readonly name: string; readonly holder: string | null } | null = null
    for (const [i, outcome] of settled.entries()) {
      const { name } = this.#parts[i] as Part
      if (outcome.status === 'rejected') failed ??= outcome
      else if ('share' in outcome.value) leases.push([name, outcome.value.share.lease])
      // The others are told that they are busy as well, but not by whom.
      else if (busy === null || busy.holder === null) busy = { name, holder: outcome.value.holder }
    }
    if (failed === null && busy === null) return { leases }
    await this.#giveBack(leases, patience)
    if (failed !== null) throw failed.reason
    return busy ?? { name: '', holder: null }
  }

  /** Takes one after the other. */
  async #inOrder(options: CheckedAcquireOptions, until: number): Promise<ObtainedAll> {
    const { engine } = this.#context
    const leases: NamedLease[] = []
    try {
      for (const part of this.#parts) {
        // Between two of them nobody hears of these.
        engine.assertOpen()
        if (options.signal?.aborted === true) throw options.signal.reason
        const wait = options.wait === 0 ? 0 : Math.max(0, until - engine.clock.monotonic())
        const obtained = await this.#one(part, { ...options, wait })
        if (!('share' in obtained)) {
          await this.#giveBack(leases, { until, signal: options.signal })
          return { name: part.name, holder: obtained.holder }
        }
        leases.push([part.name, obtained.share.lease])
      }
      if (options.signal?.aborted === true) throw options.signal.reason
    } catch (error) {
      await this.#giveBack(leases, { until, signal: options.signal })
      throw error
    }
    return { leases }
  }

  async #one({ obtainer, name }: Part, options: CheckedAcquireOptions): Promise<Obtained> {
    try {
      return await new Promise<Obtained>((resolve, reject) => obtainer.obtain(options, resolve, reject))
    } catch (error) {
      if (error instanceof LockTimeoutError && error.details['lock'] === name) {
        return { holder: error.holder, waited: Number(error.details['waited']) }
      }
      throw error
    }
  }

  /**
   * The last one first: whoever is let in by an earlier one then finds the later ones free. Resolves when all are given back, or there is
   * no more time, or nobody waits any more; what is not given back by then is in the background.
   */
  async #giveBack(leases: readonly NamedLease[], { until, signal }: Patience): Promise<void> {
    const { engine } = this.#context
    const releases: Promise<unknown>[] = []
    for (const [, lease] of leases.toReversed()) {
      const release = lease.release().catch(() => undefined)
      engine.inBackground(release)
      releases.push(release)
    }
    if (releases.length === 0 || signal?.aborted === true) return
    const given = answered(Promise.all(releases), engine.clock, until + engine.budget)
    if (signal === null) await given
    else await unlessAborted(given, signal)
  }
}

/** Resolves with the work, or when the signal aborts. */
function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    void work.then(end)
  })
}

/** By code units: the same everywhere, whatever the language of the machine. */
function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
