import { KnownPolicies, type Policies } from './policy-set.ts'
import type { LimitEngine } from './limit-engine.ts'
import { LocalLimits } from './local-limits.ts'
import { RememberedDenials } from './remembered-denials.ts'
import { StoreHealth } from './store-health.ts'
import { TokenLeases, type AskTokens } from './token-leases.ts'
import { WaitingLine } from './waiting-line.ts'

/** What all limiters of one name share within a Holdfast instance, whatever their other options. */
export class SharedLimiter {
  readonly name: string
  readonly policies: Policies
  readonly known = new KnownPolicies()
  readonly remembered: RememberedDenials
  readonly health: StoreHealth
  readonly local: LocalLimits
  readonly #engine: LimitEngine
  readonly #lines = new Map<string, WaitingLine>()
  readonly #leases = new Map<number, TokenLeases>()

  constructor(engine: LimitEngine, name: string, policies: Policies) {
    this.#engine = engine
    this.name = name
    this.policies = policies
    this.remembered = new RememberedDenials(engine.clock)
    this.health = new StoreHealth(name, engine.storeKind)
    this.local = new LocalLimits(engine.clock, name)
  }

  /** The leases of a size; created when there are none yet. */
  leases(size: number, ask: AskTokens): TokenLeases {
    let leases = this.#leases.get(size)
    if (leases === undefined) this.#leases.set(size, (leases = new TokenLeases(this.#engine, size, ask)))
    return leases
  }

  /** Those who wait for a subject; a new line when nobody does. */
  line(subject: string): WaitingLine {
    let line = this.#lines.get(subject)
    if (line === undefined) {
      const whenEmpty = (): void => void this.#lines.delete(subject)
      line = new WaitingLine({ engine: this.#engine, limiter: this.name, subject, whenEmpty })
      this.#lines.set(subject, line)
    }
    return line
  }

  /** This process made room for a subject. */
  roomMade(subject: string): void {
    this.remembered.forget(subject)
    this.#lines.get(subject)?.nudge()
  }

  /** Tokens that this process holds of a subject are not to be used any more. */
  dropTokens(subject: string): void {
    for (const leases of this.#leases.values()) leases.drop(subject)
  }
}
