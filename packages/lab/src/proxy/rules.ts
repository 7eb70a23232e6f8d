import type { ProxiedCommand } from './command.ts'
import type { HeldCommand } from './held-request.ts'

/** What becomes of one command. */
export type Verdict =
  /** It goes on, and its reply comes back. */
  | { readonly kind: 'pass' }
  /** It does not reach the server, and its connection is reset. */
  | { readonly kind: 'reset'; happened(): void }
  /** It is executed; its reply is discarded and the connection reset. */
  | { readonly kind: 'lose-reply'; happened(): void }
  /** Its reply comes so many milliseconds later, and with it all behind it. */
  | { readonly kind: 'delay-reply'; readonly ms: number; happened(): void }
  /** It waits at the proxy, and with it all behind it on this connection. */
  | { readonly kind: 'hold'; readonly request: HeldCommand }

/** Looks at a command and decides, or leaves it to the next rule. */
export type Rule = (command: ProxiedCommand) => Verdict | undefined

/** The rules of a proxy, in the order in which they were made. The first that decides counts. */
export class Rules {
  readonly #rules = new Set<Rule>()

  /** Without rules nobody has to look at single commands. */
  get none(): boolean {
    return this.#rules.size === 0
  }

  /** Adds a rule; returns how to take it back. */
  add(rule: Rule): () => void {
    this.#rules.add(rule)
    return () => this.#rules.delete(rule)
  }

  clear(): void {
    this.#rules.clear()
  }

  decide(command: ProxiedCommand): Verdict {
    for (const rule of this.#rules) {
      const verdict = rule(command)
      if (verdict !== undefined) return verdict
    }
    return { kind: 'pass' }
  }
}
