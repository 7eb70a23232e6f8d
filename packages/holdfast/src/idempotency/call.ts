import { InvalidArgumentError, OutcomeUnknownError, type OnceKey, type WorkOutcome } from '../errors.ts'
import type { OnceAddress } from '../store/once/address.ts'
import type { StoredOutcome } from '../store/once/contract.ts'
import { inProgress, refuseOther, replayOf } from './answers.ts'
import { CallWait } from './call-wait.ts'
import type { Asked, Claim, OnceCommands } from './commands.ts'
import { Execution, type Result, type Work } from './execution.ts'
import type { OnceEngine } from './once-engine.ts'
import type { CheckedIdempotencyOptions, CheckedRunOptions } from './options.ts'
import type { SharedKey } from './shared-key.ts'

/** What a call of `run` comes to when it does not reject by itself. */
export type Came =
  | { readonly kind: 'own'; readonly execution: Execution; readonly result: Result }
  | { readonly kind: 'replay'; readonly work: WorkOutcome }

/** What all calls of one idempotency share. */
export interface CallContext {
  readonly engine: OnceEngine
  readonly commands: OnceCommands
  readonly options: CheckedIdempotencyOptions
}

export interface CallParts {
  readonly address: OnceAddress
  readonly about: OnceKey
  readonly call: CheckedRunOptions
  readonly work: Work
}

/**
 * One call of `run`, until its own work has run or another's outcome is there. It asks the store only when nobody else of
 * this process does, and hears what others were answered.
 */
export class OnceCall {
  readonly #context: CallContext
  readonly #parts: CallParts
  readonly #wait: CallWait
  /** Monotonic milliseconds until which it waits for others. */
  readonly #until: number
  /** The work of this call, once it has begun. */
  #execution: Execution | null = null
  /** Whether another process was seen to run it. */
  #seenElsewhere = false

  constructor(context: CallContext, parts: CallParts) {
    this.#context = context
    this.#parts = parts
    this.#wait = new CallWait(context.engine, parts.call.signal)
    this.#until = context.engine.clock.monotonic() + parts.call.wait
  }

  /** @throws what `Idempotency.run` says, but for what comes of the work itself */
  async run(): Promise<Came> {
    const { engine } = this.#context
    const shared = engine.enter(this.#parts.address.key)
    try {
      for (;;) {
        if (shared.running !== null) {
          const came = await this.#follow(shared.running)
          if (came !== null) return came
          continue
        }
        const asked = await this.#wait.for(shared.asking ?? this.#ask(shared))
        const own = this.#execution
        if (own !== null) return { kind: 'own', execution: own, result: (await own.over).result }
        const came = await this.#hear(asked as Asked, shared)
        if (came !== null) return came
      }
    } finally {
      this.#wait.end()
      engine.leave(shared)
    }
  }

  /** A work runs in this process: its outcome, if it comes in time; `null` when the store has to be asked. */
  async #follow(running: Execution): Promise<Came | null> {
    const { fingerprint } = this.#parts.call
    refuseOther(this.#parts.about, running.fingerprint, fingerprint)
    const over = this.#isOver ? null : await this.#wait.for(running.over, this.#until)
    if (over === null) throw inProgress(this.#parts.about, this.#context.options.lease)
    return over.ended.kind === 'done' ? this.#replay(over.ended.stored) : null
  }

  /** Asks the store, for all who call now. */
  #ask(shared: SharedKey): Promise<Asked> {
    const { commands } = this.#context
    const { address, call } = this.#parts
    shared.asking = new Promise((resolve) => {
      const tell = (asked: Asked): void => {
        shared.asking = null
        resolve(asked)
      }
      commands.claim(address, call.fingerprint, (asked) => {
        if (asked.kind !== 'claimed') return tell(asked)
        if (this.#wait.interrupted) {
          void commands.free(asked.claim, false).then(() => tell({ kind: 'given-back' }))
          return
        }
        this.#begin(shared, asked.claim)
        tell(asked)
      })
    })
    return shared.asking
  }

  /** Begins the work. Nothing interrupts this call any more. */
  #begin(shared: SharedKey, claim: Claim | null): Execution {
    const { engine, commands, options } = this.#context
    const { about, call, work } = this.#parts
    this.#wait.end()
    const parts = { engine, commands, options, about, fingerprint: call.fingerprint, claim }
    const execution = new Execution(parts, work, () => {
      shared.running = null
    })
    this.#execution = execution
    shared.running = execution
    return execution
  }

  /** What the store said, to this call or to another. */
  async #hear(asked: Asked, shared: SharedKey): Promise<Came | null> {
    const { call } = this.#parts
    switch (asked.kind) {
      case 'claimed':
      case 'given-back':
        return null
      case 'failed':
        return this.#without(asked, shared)
      case 'mismatch':
        refuseOther(this.#parts.about, asked.fingerprint, call.fingerprint)
        return null
      case 'done':
        refuseOther(this.#parts.about, asked.fingerprint, call.fingerprint)
        return this.#replay(asked.outcome)
      case 'running': {
        refuseOther(this.#parts.about, asked.fingerprint, call.fingerprint)
        if (asked.left === 0 && !this.#context.options.retryAbandoned)
          throw new OutcomeUnknownError(this.#parts.about, 'abandoned')
        this.#seenElsewhere = true
        if (this.#isOver) throw inProgress(this.#parts.about, asked.left)
        await this.#wait.for(shared.pause(asked.left + 1), this.#until)
        return null
      }
    }
  }

  /** The store did not say whether the work may run. */
  async #without({ error }: Extract<Asked, { kind: 'failed' }>, shared: SharedKey): Promise<Came | null> {
    // One that is known to run elsewhere is not run a second time; and a mistake of the caller's is no trouble of the store's.
    const mistaken = error instanceof InvalidArgumentError
    if (mistaken || !this.#context.options.runsUnprotected || this.#seenElsewhere) throw error
    if (shared.running !== null) return null
    this.#context.engine.assertOpen()
    const execution = this.#begin(shared, null)
    return { kind: 'own', execution, result: (await execution.over).result }
  }

  async #replay(stored: StoredOutcome): Promise<Came> {
    const replay = replayOf(this.#parts.about, this.#context.options.codec, stored)
    // The codec may take its time, or never come to an end.
    return { kind: 'replay', work: (await this.#wait.for(replay)) as WorkOutcome }
  }

  get #isOver(): boolean {
    return this.#context.engine.clock.monotonic() >= this.#until
  }
}
