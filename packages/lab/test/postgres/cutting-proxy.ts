import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

/** What happens to the first message that holds the mark. */
export type Cut =
  /** It never arrives: both sides lose the connection. */
  | 'request'
  /** It arrives and is done; the answer is lost together with the connection. */
  | 'reply'
  /** It is kept back, and the client loses its connection; `deliver` sends it on later. */
  | 'hold'
  /** It is kept back, and nobody is told. */
  | 'silence'

/** A way to a server that can be cut at one message. */
export interface CuttingProxy {
  readonly port: number
  /** Cuts at the next message that holds `mark`, once. Resolves when it has. */
  cutAt(mark: string | RegExp, how: Cut): Promise<void>
  /** Sends on what is kept back. */
  deliver(): void
  close(): Promise<void>
}

export async function startCuttingProxy(target: {
  readonly host: string
  readonly port: number
}): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let cut: { readonly mark: string | RegExp; readonly how: Cut; readonly done: () => void } | null = null
  let held: (() => void)[] = []

  const server = createServer((client) => {
    const upstream = createConnection(target.port, target.host)
    let losesReply = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (data) => {
      if (cut === null || !holds(data, cut.mark)) return void upstream.write(data)
      const { how, done } = cut
      cut = null
      if (how === 'reply') {
        losesReply = true
        upstream.write(data)
      } else if (how === 'request') {
        client.resetAndDestroy()
        upstream.destroy()
      } else {
        held.push(() => upstream.write(data))
        if (how === 'hold') client.resetAndDestroy()
      }
      done()
    })
    upstream.on('data', (data) => {
      if (!losesReply) return void client.write(data)
      client.resetAndDestroy()
      upstream.end()
    })
    client.on('end', () => upstream.end())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cutAt: (mark, how) => new Promise((done) => (cut = { mark, how, done })),
    deliver: () => {
      for (const send of held.splice(0)) send()
    },
    close: async () => {
      held = []
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function holds(data: Buffer, mark: string | RegExp): boolean {
  return typeof mark === 'string' ? data.includes(mark) : mark.test(data.toString('latin1'))
}
