import { decodeCommand } from '../resp/commands.ts'

/** A command on its way from a client to the server. */
export class ProxiedCommand {
  /** Which connection carries it. */
  readonly connection: number
  /** Upper case. */
  readonly name: string
  /** As it was sent. */
  readonly bytes: Buffer
  #args: string[] | undefined

  constructor(connection: number, name: string, bytes: Buffer) {
    this.connection = connection
    this.name = name
    this.bytes = bytes
  }

  /** All behind the name, as UTF-8. Whoever needs the very bytes reads `bytes`. */
  get args(): readonly string[] {
    this.#args ??= decodeCommand(this.bytes)
      .slice(1)
      .map((arg) => arg.toString())
    return this.#args
  }
}

/** Which commands are meant: by name; by name and first argument; or by any condition. */
export type Match =
  | string
  | { readonly name?: string; readonly firstArg?: string | RegExp }
  | ((command: ProxiedCommand) => boolean)

/** Whether a command is meant. Names are compared without regard to case. */
export function matches(match: Match, command: ProxiedCommand): boolean {
  if (typeof match === 'function') return match(command)
  if (typeof match === 'string') return command.name === match.toUpperCase()
  if (match.name !== undefined && command.name !== match.name.toUpperCase()) return false
  const { firstArg } = match
  if (firstArg === undefined) return true
  const first = command.args[0]
  if (first === undefined) return false
  return typeof firstArg === 'string' ? first === firstArg : firstArg.test(first)
}
