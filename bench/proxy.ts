import { startProxy, type TcpProxy } from '../packages/lab/src/index.ts'
import { serveWorker } from '../packages/lab/src/servers/worker-side.ts'

/** A proxy in a process of its own, so that it takes no time from a client's event loop. */

export interface ProxyWish {
  /** Of the Redis server. */
  readonly port: number
  /** Whether commands are counted; without that bytes are passed on unread. */
  readonly counts: boolean
  /** On the way to the server, in whole milliseconds. */
  readonly delay: number
}

let proxy: TcpProxy | undefined

serveWorker({
  async start({ port, counts, delay }: ProxyWish) {
    proxy = await startProxy({ target: { port }, protocol: counts ? 'redis' : 'bytes' })
    if (delay > 0) proxy.toServer.delay(delay)
    return proxy.url
  },
  reset: () => proxy?.resetCounts(),
  counts: () => proxy?.commands,
})
