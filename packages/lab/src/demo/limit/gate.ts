import type { Holdfast } from 'holdfast'
import type { Log } from '../log.ts'
import type { LimitCommands } from './commands.ts'
import type { LimitService } from './service.ts'
import type { LimitHappening } from './traffic.ts'

/** Asks for one request whether it may pass. A variant makes one of these for each process. */
export type AskGate = () => Promise<boolean>

/** What is called a minute here, in milliseconds. */
export const MINUTE = 1_000

/** What the user may do in a minute. */
export const LIMIT = 100

export const LIMIT_LANES = ['P1', 'P2', 'P3', 'P4'] as const

/** The process that dies in its first request. */
export const DYING: (typeof LIMIT_LANES)[number] = 'P1'

/** The process whose clock is a minute ahead, where processes can have clocks of their own. */
export const AHEAD: (typeof LIMIT_LANES)[number] = 'P4'

/** The only user there is. */
export const USER = 'ada'

interface GateParts {
  readonly limits: LimitService
  readonly log: Log<LimitHappening>
  readonly lane: string
  /** Whether this process dies in its first request. */
  readonly dies: boolean
}

/** What a variant finds in its process. */
export class Gate {
  readonly holdfast: Holdfast
  readonly commands: LimitCommands
  readonly #parts: GateParts
  #members = 0

  constructor(parts: GateParts) {
    this.holdfast = parts.limits.holdfast
    this.commands = parts.limits.commands
    this.#parts = parts
  }

  /** What this process takes for the time, in milliseconds since 1970. */
  time(): number {
    return this.#parts.limits.clock()
  }

  /** The user's key, which no other software uses. */
  key(variant: string): string {
    return keyOf(this.#parts.limits, variant)
  }

  /** A name for one request that no other has. */
  newMember(): string {
    return `${this.#parts.lane}-${(this.#members += 1)}`
  }

  /** Stands between two commands of one request: a process can end here. */
  async betweenTwoCommands(): Promise<void> {
    if (this.#parts.dies) await this.die()
  }

  /** Ends the process as kill -9 does. */
  async die(): Promise<void> {
    this.#parts.log.note(1, { what: 'dies' })
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => {})
  }
}

/** Where a naive variant counts the user. */
export function keyOf({ prefix }: LimitService, variant: string): string {
  return `${prefix}:${variant}:${USER}`
}
