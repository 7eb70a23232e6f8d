/** Commands as Redis clients send them: arrays of bulk strings. Written and read here, once. */

export type CommandArgument = string | number | bigint | Buffer

/** The bytes of one command. */
export function encodeCommand(args: readonly CommandArgument[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length}\r\n`)]
  for (const arg of args) {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg))
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
}

/** The arguments of one whole command, its name first. The buffers are views into the given bytes. */
export function decodeCommand(bytes: Buffer): Buffer[] {
  const args: Buffer[] = []
  let at = bytes.indexOf(LINE_FEED) + 1
  while (at < bytes.length) {
    const lineEnd = bytes.indexOf(LINE_FEED, at)
    const length = Number(bytes.toString('latin1', at + 1, lineEnd - 1))
    args.push(bytes.subarray(lineEnd + 1, lineEnd + 1 + length))
    at = lineEnd + 1 + length + 2
  }
  return args
}

const LINE_FEED = 10
