import { backoff, interval, type LockOptions } from 'holdfast'
import type { RecordedHold } from 'holdfast/testing'
import type { Client } from '../client/client.ts'
import type { CallerPlan, LockStep, Step, Work } from '../plan/plan.ts'
import { inWorldTime, worldLock, type WorldHold } from './recorded.ts'
import { LimitCaller, type LimitSurroundings } from './limit-caller.ts'
import { OnceCaller, type OnceSurroundings } from './once-caller.ts'
import type { GuardedResource } from './resource.ts'

type Hold = RecordedHold<WorldHold>

/** What callers do things to. */
export interface Surroundings extends LimitSurroundings, OnceSurroundings {
  readonly names: readonly string[]
  readonly resource: GuardedResource
  /** A lock is about to be taken away by force. */
  forcing(name: string, from: number): void
  /** It was told that the lock was taken from this holder. */
  forced(name: string, holder: string): void
  /** A call that was aborted settled only so long after. */
  abortedLate(ms: number): void
}

/** Within this an aborted call rejects, in milliseconds. */
const LONGEST_ABORT = 10

/** A caller of the library within a client process: does what its plan says, and swallows what the library may throw. */
export class Caller {
  readonly #client: Client
  readonly #around: Surroundings
  readonly #limits: LimitCaller
  readonly #once: OnceCaller

  constructor(client: Client, around: Surroundings) {
    this.#client = client
    this.#around = around
    this.#limits = new LimitCaller(client, around)
    this.#once = new OnceCaller(client, around)
  }

  async run({ startsAt, steps }: CallerPlan): Promise<void> {
    await this.#pause(startsAt)
    for (const step of steps) {
      try {
        await this.#do(step)
      } catch (error) {
        // What a call was answered is in the history; errors that are not the library's own are faults of this simulator.
        if (!isExpected(error)) throw error
      }
    }
  }

  #do(step: Step): Promise<unknown> {
    if (step.kind === 'pause') return this.#pause(step.for)
    if (step.kind === 'lock') return this.#lock(step)
    if (step.kind === 'limit') return this.#abortably(step, (signal) => this.#limits.do(step, signal))
    if (step.kind === 'once') return this.#abortably(step, (signal) => this.#once.do(step, signal))
    const { hf, recorder } = this.#client
    const name = this.#around.names[step.name] as string
    if (step.kind === 'inspect') return recorder.call('inspect', this.#about(name, 1), () => hf.inspect(name))
    return this.#force(name)
  }

  async #force(name: string): Promise<void> {
    const { hf, recorder, process } = this.#client
    const from = process.time
    this.#around.forcing(name, from)
    try {
      await recorder.call('force', this.#about(name, 2), async () => {
        const { released, holder } = await hf.forceRelease(name)
        if (released && holder !== null) this.#around.forced(name, holder)
      })
    } finally {
      // Whoever stood still meanwhile has done it later.
      this.#around.forcing(name, from)
    }
  }

  async #lock(step: LockStep): Promise<void> {
    const { hf, process, recorder } = this.#client
    const { rate } = process.clock
    const name = this.#around.names[step.name] as string
    const recorded = recorder.lock(worldLock(hf.lock(name, optionsOf(step)), rate), {
      name,
      ttl: inWorldTime(step.ttl, rate),
      wait: inWorldTime(step.wait, rate),
      budget: inWorldTime(this.#client.budget, rate),
      renews: step.renew,
    })
    const { options, done } = this.#abortable(step)
    try {
      if (step.how === 'run') {
        return await recorded.run(async (hold) => {
          done()
          await this.#work(hold, step)
        }, options)
      }
      const hold = step.how === 'try' ? await recorded.tryAcquire(options) : await recorded.acquire(options)
      done()
      if (hold === null) return
      await this.#work(hold, step)
      await this.#end(hold, step)
    } finally {
      done()
    }
  }

  async #work(hold: Hold, { work, name }: LockStep): Promise<void> {
    this.#client.watch(hold)
    try {
      for (const part of work) await this.#part(hold, part, this.#around.names[name] as string)
    } finally {
      this.#client.unwatch(hold)
    }
  }

  async #part(hold: Hold, part: Work, name: string): Promise<void> {
    const { process, recorder } = this.#client
    switch (part.kind) {
      case 'pause':
        return this.#pause(part.for)
      case 'block': {
        const from = process.time
        process.busyFor(part.for)
        recorder.stop({ from, until: process.time, cause: 'blocked' })
        return
      }
      case 'assert':
        try {
          hold.assertHeld()
        } catch (error) {
          if (!isExpected(error)) throw error
        }
        return
      case 'extend':
        hold.held.extendBy = part.ttl
        await hold.extend(inWorldTime(part.ttl, process.clock.rate)).catch((error: unknown) => {
          if (!isExpected(error)) throw error
        })
        this.#client.watch(hold)
        return
      case 'write':
        this.#around.resource.send(process, name, hold.held.fence, part.delay)
    }
  }

  async #end(hold: Hold, { ending }: LockStep): Promise<void> {
    if (ending === 'leave') return
    if (this.#client.closing) {
      // Closing gave it back: what is answered now speaks of that release.
      await hold.held.release().catch(() => undefined)
      return
    }
    if (ending === 'release-twice') {
      // The second shares the first one's answer, and says nothing of its own.
      await Promise.allSettled([hold.release(), hold.held.release()])
      return
    }
    // Who is told that it failed tries once more, as a careful caller does.
    await hold.release().catch((error: unknown) => {
      if (!isExpected(error)) throw error
      return hold.release()
    })
  }

  /** Aborting ends the call, and nothing that is done with what it gave. */
  async #abortably(
    { abortAfter }: { readonly abortAfter: number | null },
    run: (signal: AbortSignal | undefined) => Promise<void>,
  ): Promise<void> {
    if (abortAfter === null) return run(undefined)
    const controller = new AbortController()
    const timer = this.#client.process.clock.setTimer(() => controller.abort(new Aborted()), abortAfter)
    try {
      await run(controller.signal)
    } finally {
      timer.cancel()
    }
  }

  #abortable({ abortAfter }: LockStep): { options: { signal?: AbortSignal }; done: () => void } {
    if (abortAfter === null) return { options: {}, done: () => undefined }
    const controller = new AbortController()
    const { process } = this.#client
    let abortedAt = Infinity
    const timer = process.clock.setTimer(() => {
      abortedAt = process.time
      controller.abort(new Aborted())
    }, abortAfter)
    const done = (): void => {
      timer.cancel()
      if (process.time - abortedAt > LONGEST_ABORT) this.#around.abortedLate(process.time - abortedAt)
      abortedAt = Infinity
    }
    return { options: { signal: controller.signal }, done }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#client.process.clock.setTimer(resolve, ms))
  }

  #about(name: string, budgets: number): { name: string; budget: number } {
    return { name, budget: inWorldTime(budgets * this.#client.budget, this.#client.process.clock.rate) }
  }
}

/** Why a caller gives up waiting. */
class Aborted extends Error {
  readonly code = 'SIM_ABORTED'
}

function isExpected(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code !== 'INVALID_ARGUMENT'
}

function optionsOf({ ttl, wait, renew, maxHold, retry }: LockStep): LockOptions {
  return {
    ttl,
    wait,
    renew,
    ...(maxHold === null ? {} : { maxHold }),
    ...(retry === 'interval' ? { retry: interval(50) } : {}),
    ...(retry === 'backoff' ? { retry: backoff({ base: 20, max: 500 }) } : {}),
  }
}
