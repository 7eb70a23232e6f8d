/** What we use of a client of ioredis' make. */
interface Client {
  readonly options: object
  call(command: string, args: string[]): Promise<unknown>
  sendCommand?(command: object): unknown
}

/** What we use of its commands. */
interface Command {
  readonly name: string
  args: readonly string[]
}

type CommandClass = new (name: string, args: string[], options: object) => Command

/**
 * Sends commands of the client's own class, which is all that its `sendCommand` asks for. Those that its `call` makes take their time
 * over every word (they flatten the list, and count the bytes of each), and a call that speaks of many locks has hundreds.
 *
 * @returns `null` for a client of which the class cannot be learned: then its `call` has to do
 */
export function commandSender(client: Client): ((words: readonly string[]) => Promise<unknown>) | null {
  const Base = commandClass(client)
  if (Base === null) return null

  class QuickCommand extends Base {
    constructor(words: readonly string[]) {
      super(words[0] ?? '', [], { replyEncoding: 'utf8' })
      // No list literal: V8 may take to making those as old objects, and what they hold is not collected for long then.
      this.args = words.slice(1)
    }

    toWritable(): string {
      return encodeCommand(this.name, this.args)
    }
  }
  return (words) => client.sendCommand?.(new QuickCommand(words)) as Promise<unknown>
}

/** A client does not say what its commands are made of; but it makes one when it is asked to, and this one is not sent. */
function commandClass(client: Client): CommandClass | null {
  if (client.sendCommand === undefined) return null
  let made: object | undefined
  const likeIt = Object.create(client, {
    options: { value: { ...client.options, enableAutoPipelining: false } },
    sendCommand: { value: (command: object) => (made = command) },
  }) as Client
  try {
    // Of a client that makes it in another way, it is nobody's concern how that ends.
    Promise.resolve(likeIt.call('PING', [])).catch(() => undefined)
  } catch {
    return null
  }
  return made !== undefined && 'toWritable' in made ? (made.constructor as CommandClass) : null
}

/** A command as it is sent: an array of bulk strings (RESP). */
export function encodeCommand(name: string, args: readonly string[]): string {
  const text = encoded(name, args, charactersOf)
  // A length is one of bytes, which are as many as characters nearly always.
  return Buffer.byteLength(text) === text.length ? text : encoded(name, args, bytesOf)
}

function encoded(name: string, args: readonly string[], lengthOf: (word: string) => number): string {
  let text = `*${args.length + 1}\r\n$${lengthOf(name)}\r\n${name}\r\n`
  for (const arg of args) text += `$${lengthOf(arg)}\r\n${arg}\r\n`
  return text
}

const charactersOf = (word: string): number => word.length
const bytesOf = (word: string): number => Buffer.byteLength(word)
