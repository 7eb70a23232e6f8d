import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { waitFor } from '../../../src/index.ts'

/** One end of a TCP connection that remembers all that happens to it. */
export class Peer {
  readonly socket: Socket
  received = ''
  /** `end`: the other side ended properly. `reset`: it was reset. */
  fate: 'open' | 'end' | 'reset' = 'open'

  constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => (this.received += text))
    socket.on('end', () => (this.fate = 'end'))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') this.fate = 'reset'
    })
  }

  async hears(text: string): Promise<void> {
    await waitFor(() => this.received === text, {
      what: () => `${JSON.stringify(text)} (so far ${this.received})`,
    })
  }

  async meets(fate: 'end' | 'reset'): Promise<void> {
    await waitFor(() => this.fate === fate, { what: () => `the connection's ${fate} (so far ${this.fate})` })
  }
}

/** A server that says nothing by itself. */
export class SilentServer {
  readonly peers: Peer[] = []
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    this.peers.push(new Peer(socket))
  })

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The newest connection, once it is there. */
  async peer(index = 0): Promise<Peer> {
    return waitFor(() => this.peers[index], { what: `connection ${index} at the server` })
  }

  close(): void {
    for (const { socket } of this.peers) socket.destroy()
    this.#server.close()
  }
}

/** Connects to a port; rejects when it is refused. */
export async function connectPeer(port: number): Promise<Peer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  const peer = new Peer(socket)
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return peer
}
