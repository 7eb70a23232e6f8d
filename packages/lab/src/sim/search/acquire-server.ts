import type { AcquireRules } from './acquire-rules.ts'
import { ScriptedServer, type Data } from './scripted-server.ts'

/** Who stands in the lock, as 22 characters, and the tick after which nobody does; `null` when it is free. */
export type Standing = { readonly owner: string; readonly until: number } | null

/** Milliseconds of a tick: more than the scripts' own readings differ by. */
const TICK = 1_000
const START_MILLIS = 1_700_000_000_000
const LOCK = 'lock'

/** The shipped scripts over one lock, in ticks. Each answer is worked out once. */
export class AcquireServer {
  readonly #server = new ScriptedServer()
  readonly #rules: AcquireRules
  readonly #ttl: number
  readonly #known = new Map<string, { readonly lock: Standing; readonly told: string }>()

  constructor(rules: AcquireRules, ttl: number) {
    this.#rules = rules
    this.#ttl = ttl
  }

  acquire(
    owner: string,
    notAfter: number,
    at: { lock: Standing; now: number },
  ): { lock: Standing; told: string } {
    const args = ['call', 'process', '86400000', String(this.#ttl * TICK), '', '@h:1']
    return this.#once(`a${notAfter}`, owner, at, (data) =>
      this.#server.run(
        this.#rules.acquire,
        { keys: ['fence', LOCK, 'queue'], args: [...args, String(START_MILLIS + notAfter * TICK), owner] },
        { data, micros: microsAt(at.now) },
      ),
    )
  }

  release(owner: string, at: { lock: Standing; now: number }): { lock: Standing; told: string } {
    return this.#once('r', owner, at, (data) =>
      this.#server.run(
        this.#rules.release,
        { keys: [LOCK, 'queue'], args: ['call', 'process', 'wake', '@h:1', owner] },
        { data, micros: microsAt(at.now) },
      ),
    )
  }

  #once(
    what: string,
    owner: string,
    { lock, now }: { lock: Standing; now: number },
    run: (data: Data) => { data: Data; reply: unknown },
  ): { lock: Standing; told: string } {
    const id = `${what} ${owner} ${now} ${lock === null ? '' : lock.owner + lock.until}`
    let known = this.#known.get(id)
    if (known === undefined) {
      // Fences tell states apart that are alike here: another search is about them.
      const before: Data =
        lock === null ? [] : [[LOCK, `${lock.owner}@h:1#1`, START_MILLIS + lock.until * TICK]]
      const { data, reply } = run(before)
      known = { lock: standingIn(data), told: toldBy(reply) }
      this.#known.set(id, known)
    }
    return known
  }
}

const microsAt = (tick: number): number => (START_MILLIS + tick * TICK) * 1_000

function standingIn(data: Data): Standing {
  const [, text, expires] = data.find(([key]) => key === LOCK) ?? [LOCK, null, null]
  if (text === null) return null
  return { owner: text.slice(0, 22), until: expires === null ? Infinity : (expires - START_MILLIS) / TICK }
}

function toldBy(reply: unknown): string {
  const [, , first] = reply as [string, string, string | string[]]
  const word = Array.isArray(first) ? (first[0] as string) : first
  return /^\d+$/.test(word) || word === 'all' ? 'granted' : word
}
