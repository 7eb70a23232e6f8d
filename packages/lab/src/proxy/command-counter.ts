/** Counts of commands as clients sent them. */
export interface CommandCounts {
  /** Without those that set up a connection. */
  readonly total: number
  /** By upper-case name, without those that set up a connection. */
  readonly byName: Readonly<Record<string, number>>
  /** HELLO, CLIENT, INFO, AUTH, SELECT, READONLY: clients send them by themselves when they connect. */
  readonly setup: { readonly total: number; readonly byName: Readonly<Record<string, number>> }
}

/** A command name and what the proxy has to know of it. */
export interface CommandName {
  readonly name: string
  readonly isSetup: boolean
  /** Replies cannot be told apart by order any more once such a command was sent. */
  readonly endsPairing: boolean
  count: number
}

/** Counts commands by name, with one look-up for each. */
export class CommandCounter {
  /** By the name as it was spelt. */
  readonly #spellings = new Map<string, CommandName>()
  readonly #names = new Map<string, CommandName>()

  /** Counts one command and tells what is known of its name. */
  count(bytes: Buffer, nameStart: number, nameEnd: number): CommandName {
    const spelling = bytes.toString('latin1', nameStart, nameEnd)
    const entry = this.#spellings.get(spelling) ?? this.#learn(spelling)
    entry.count++
    return entry
  }

  read(): CommandCounts {
    const byName: Record<string, number> = {}
    const setup: Record<string, number> = {}
    for (const { name, isSetup, count } of this.#names.values()) {
      if (count > 0) (isSetup ? setup : byName)[name] = count
    }
    return { total: sum(byName), byName, setup: { total: sum(setup), byName: setup } }
  }

  reset(): void {
    for (const entry of this.#names.values()) entry.count = 0
  }

  #learn(spelling: string): CommandName {
    const name = spelling.toUpperCase()
    let entry = this.#names.get(name)
    if (entry === undefined) {
      entry = { name, isSetup: SETUP.has(name), endsPairing: ENDS_PAIRING.has(name), count: 0 }
      this.#names.set(name, entry)
    }
    this.#spellings.set(spelling, entry)
    return entry
  }
}

const SETUP = new Set(['HELLO', 'CLIENT', 'INFO', 'AUTH', 'SELECT', 'READONLY'])

/** One reply per channel, or replies without end; under RESP3 none at all, only pushes. */
const ENDS_PAIRING = new Set([
  'SUBSCRIBE',
  'PSUBSCRIBE',
  'SSUBSCRIBE',
  'UNSUBSCRIBE',
  'PUNSUBSCRIBE',
  'SUNSUBSCRIBE',
  'MONITOR',
  'SYNC',
  'PSYNC',
])

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}
