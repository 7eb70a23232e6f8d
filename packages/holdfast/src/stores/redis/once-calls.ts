import type { CallKind, Script } from './call-kind.ts'
import type { ClaimResult, CompleteResult } from '../../store/once/contract.ts'
import claimScript from './lua/once-claim.lua'
import completeScript from './lua/once-complete.lua'
import freeScript from './lua/once-free.lua'
import inspectScript from './lua/once-inspect.lua'
import renewScript from './lua/once-renew.lua'
import settleScript from './lua/once-settle.lua'

/** Within a turn: what ends a run, then what prolongs one, then what begins one or only looks. */
const ORDER = { end: 0, renew: 1, begin: 2 } as const

const EXPIRES = { expires: 'by-call' } as const

/** What all items of a call come to when its reply says so of all. */
const CLAIMED: ClaimResult = { kind: 'claimed', attempt: 1 }
const DONE: CompleteResult = { kind: 'done' }

/** So many kinds are kept; they are made anew after that. A kind that is in use goes on. */
const MOST_KINDS = 256

/** The kinds of calls about keys that run once: what has the same script and terms travels in one call. */
export class OnceCallKinds {
  readonly inspect: CallKind = { script: inspectScript, order: ORDER.begin, keys: [], args: [] }
  readonly #kinds = new Map<string, CallKind>()
  /** The last of those that nearly every run needs, to be found at once. */
  #claims: {
    readonly lease: number
    readonly retention: number
    readonly retry: boolean
    readonly kind: CallKind
  } | null = null
  #completes: { readonly retention: number; readonly kind: CallKind } | null = null

  claim(lease: number, retention: number, retryAbandoned: boolean): CallKind {
    const last = this.#claims
    if (last?.lease === lease && last.retention === retention && last.retry === retryAbandoned)
      return last.kind
    const args = [String(lease), String(retention), retryAbandoned ? '1' : '0']
    const kind = this.#kind(claimScript, ORDER.begin, args, {
      expires: 'by-call',
      whole: () => () => CLAIMED,
    })
    this.#claims = { lease, retention, retry: retryAbandoned, kind }
    return kind
  }

  renew(lease: number, retention: number): CallKind {
    return this.#kind(renewScript, ORDER.renew, [String(lease), String(retention)], EXPIRES)
  }

  complete(retention: number): CallKind {
    if (this.#completes?.retention === retention) return this.#completes.kind
    const kind = this.#kind(completeScript, ORDER.end, [String(retention)], { whole: () => () => DONE })
    this.#completes = { retention, kind }
    return kind
  }

  free(retention: number): CallKind {
    return this.#kind(freeScript, ORDER.end, [String(retention)])
  }

  settle(retention: number): CallKind {
    return this.#kind(settleScript, ORDER.end, [String(retention)], EXPIRES)
  }

  #kind(script: Script, order: number, args: readonly string[], more: Partial<CallKind> = {}): CallKind {
    const id = `${script.name} ${args.join(' ')}`
    let kind = this.#kinds.get(id)
    if (kind === undefined) {
      if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear()
      kind = { script, order, keys: [], args, ...more }
      this.#kinds.set(id, kind)
    }
    return kind
  }
}
