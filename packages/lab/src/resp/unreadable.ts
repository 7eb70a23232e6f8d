/** The stream does not speak RESP (or not in the form that clients and servers really use). */
export class UnreadableStream extends Error {
  constructor(side: 'request' | 'reply', bytes: Buffer, at: number) {
    const sample = bytes.toString('latin1', at, at + 24)
    super(`a ${side} stream that is not RESP: ${JSON.stringify(sample)}`)
    this.name = 'UnreadableStream'
  }
}
