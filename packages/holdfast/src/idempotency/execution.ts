import { NO_PLACE } from '../bag.ts'
import { ClosedError, OutcomeUnknownError, type OnceKey, type WorkOutcome } from '../errors.ts'
import type { StoredOutcome } from '../store/once/contract.ts'
import { encodeOutcome, unstorable, type Encoded } from './codec.ts'
import type { Claim, OnceCommands } from './commands.ts'
import { judgementOf } from './judgement.ts'
import type { Closing, OnceEngine } from './once-engine.ts'
import type { CheckedIdempotencyOptions } from './options.ts'
import { RunLease } from './run-lease.ts'
import { isGivenUp, unkeptReason, type Unkept } from './work-signs.ts'

/** What the work is told about its run. */
export interface IdempotentRun {
  readonly key: string
  readonly scope: string
  /**
   * 1, or how many runs of this key there were whose end nobody knows, this one included. Above 1 the effect may have happened
   * already: find out before it is made again.
   */
  readonly attempt: number
  /** Names this run; no other run ever has the same. */
  readonly owner: string
  /** Aborts when the run has lost its key (an OutcomeUnknownError says why), and when the instance is closed. */
  readonly signal: AbortSignal
  /** Whether it runs without the store, by `onStoreError: 'run'`: other processes may run the same. */
  readonly unprotected: boolean
}

/** How a work ended, for calls that waited for it. `open`: they have to ask the store. */
export type Ended = { readonly kind: 'done'; readonly stored: StoredOutcome } | { readonly kind: 'open' }

/** How a work ended, for the call whose work it is. `trouble`: what went wrong with its key. */
export interface Result {
  readonly work: WorkOutcome
  readonly final: boolean
  readonly trouble: Error | null
}

interface Over {
  readonly ended: Ended
  readonly result: Result
}

export type Work = (run: IdempotentRun) => unknown

/** One run of a work, under a claim or without the store. It begins at once. */
export class Execution {
  readonly fingerprint: string | null
  readonly attempt: number
  readonly unprotected: boolean
  /** How it ended, for all who wait for that. Never rejects. */
  readonly over: Promise<Over>
  readonly #about: OnceKey
  readonly #engine: OnceEngine
  readonly #commands: OnceCommands
  readonly #options: CheckedIdempotencyOptions
  readonly #whenOver: () => void

  /** @param whenOver called before anybody hears how it ended */
  constructor(
    parts: {
      readonly engine: OnceEngine
      readonly commands: OnceCommands
      readonly options: CheckedIdempotencyOptions
      readonly about: OnceKey
      readonly fingerprint: string | null
      /** `null`: unprotected. */
      readonly claim: Claim | null
    },
    work: Work,
    whenOver: () => void,
  ) {
    this.#engine = parts.engine
    this.#whenOver = whenOver
    this.#commands = parts.commands
    this.#options = parts.options
    this.#about = parts.about
    this.fingerprint = parts.fingerprint
    this.attempt = parts.claim?.attempt ?? 1
    this.unprotected = parts.claim === null
    this.#engine.begin()
    this.over = this.#go(parts.claim, work)
  }

  /** Not over before the constructor is: that is what `await` is for, also where nothing has to be waited for. */
  async #go(claim: Claim | null, work: Work): Promise<Over> {
    try {
      return await (claim === null ? this.#runUnprotected(work) : this.#run(claim, work))
    } finally {
      this.#whenOver()
      this.#engine.ended()
    }
  }

  async #run(claim: Claim, work: Work): Promise<Over> {
    const { lease: ms } = this.#options
    const lease = new RunLease(this.#engine, this.#commands, claim, this.#about, ms)
    const ended = workOutcome(work, new Run(this.#about, claim.attempt, claim.owner, lease))
    const outcome = ended instanceof Promise ? await ended : ended
    if ('error' in outcome && isGivenUp(outcome.error)) {
      lease.giveUp()
      return openEnd(outcome, this.#unknown('abandoned', outcome))
    }
    const judged = this.#judge(outcome)
    if (judged === false) {
      lease.end()
      return this.#free(claim, outcome)
    }
    const encoding = judged === true ? this.#encode(outcome) : judged
    const encoded = encoding instanceof Promise ? await encoding : encoding
    // Renewed until it is stored: until then nobody else is to begin.
    const kept = await this.#commands.complete(claim, encoded.stored, () => lease.end())
    const done = (trouble: Error | null, ended: Ended) => {
      return { ended, result: { work: outcome, final: true, trouble } }
    }
    if (kept === 'other') return done(this.#unknown('taken', outcome), { kind: 'open' })
    if (kept !== 'done') {
      const reason = this.#engine.over ? 'closed' : 'unreachable'
      const trouble = this.#options.runsUnprotected ? null : this.#unknown(reason, outcome, kept)
      return done(trouble, { kind: 'open' })
    }
    return done(this.#failureOf(encoded, outcome), { kind: 'done', stored: encoded.stored })
  }

  async #free(claim: Claim, work: WorkOutcome): Promise<Over> {
    const freed = await this.#commands.free(claim, true)
    const taken = freed === 'other' ? this.#unknown('taken', work) : null
    const trouble = freed instanceof Error ? freed : taken
    return openEnd(work, trouble)
  }

  async #runUnprotected(work: Work): Promise<Over> {
    const controller = new AbortController()
    const closing: Closing = { place: NO_PLACE, close: () => controller.abort(new ClosedError()) }
    this.#engine.add(closing)
    const outcome = await workOutcome(
      work,
      new Run(this.#about, 1, this.#engine.newOwner(), controller, true),
    )
    this.#engine.remove(closing)
    const judged = this.#judge(outcome)
    if (judged === false) return openEnd(outcome, null)
    // For the calls of this process that waited for it.
    const { stored } = judged === true ? await this.#encode(outcome) : judged
    return { ended: { kind: 'done', stored }, result: { work: outcome, final: true, trouble: null } }
  }

  #judge(work: WorkOutcome): boolean | Encoded {
    const reason = 'value' in work ? unkeptReason(work.value) : null
    if (reason !== null) return unstorable(reason, ((work as { value: unknown }).value as Unkept).cause)
    return judgementOf(this.#options.isFinal, work)
  }

  #encode(work: WorkOutcome): Encoded | Promise<Encoded> {
    return encodeOutcome(this.#options.codec, this.#options.maxBytes, work)
  }

  #failureOf({ failure }: Encoded, work: WorkOutcome): Error | null {
    return failure === null ? null : this.#unknown(failure.reason, work, failure.cause)
  }

  #unknown(reason: OutcomeUnknownError['reason'], work: WorkOutcome, cause?: unknown): OutcomeUnknownError {
    return new OutcomeUnknownError(this.#about, reason, { work, cause })
  }
}

class Run implements IdempotentRun {
  readonly key: string
  readonly scope: string
  readonly attempt: number
  readonly owner: string
  readonly unprotected: boolean
  readonly #ends: { readonly signal: AbortSignal }

  /** @param ends asked for its signal when the work asks for it */
  constructor(
    { key, scope }: OnceKey,
    attempt: number,
    owner: string,
    ends: { readonly signal: AbortSignal },
    unprotected = false,
  ) {
    this.key = key
    this.scope = scope
    this.attempt = attempt
    this.owner = owner
    this.unprotected = unprotected
    this.#ends = ends
  }

  get signal(): AbortSignal {
    return this.#ends.signal
  }
}

/** Nothing is stored: calls that waited for it ask the store. */
function openEnd(work: WorkOutcome, trouble: Error | null): Over {
  return { ended: { kind: 'open' }, result: { work, final: false, trouble } }
}

/** What a work comes to; at once where it returns no promise. Never throws or rejects. */
export function workOutcome(work: Work, run: IdempotentRun): WorkOutcome | Promise<WorkOutcome> {
  try {
    const value = work(run)
    return isThenable(value) ? outcomeOf(value) : { value }
  } catch (error) {
    return { error }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

async function outcomeOf(promise: PromiseLike<unknown>): Promise<WorkOutcome> {
  try {
    return { value: await promise }
  } catch (error) {
    return { error }
  }
}
