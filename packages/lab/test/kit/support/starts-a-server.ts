/** Starts a server, says where, and then ends in the way that its argument names. */

import { startRedis } from '../../../src/index.ts'
import { serveWorker } from '../../../src/servers/worker-side.ts'

const server = await startRedis()
await server.command('SET', 'key', 'value')

serveWorker({
  where: () => ({ pid: server.pid, port: server.port, dir: server.dir }),
  pauseServer: () => server.pause(),
  exit: (code: number) => void setImmediate(() => process.exit(code)),
  throwUncaught: () =>
    void setImmediate(() => {
      throw new Error('uncaught on purpose')
    }),
})
