/** Starts a database server with an open connection, and makes it stand still when told to. */

import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { owned, startMysql, startPostgres } from '../../../src/index.ts'
import { serveWorker } from '../../../src/servers/worker-side.ts'

const isPostgres = process.argv[2] === 'postgres'
const server = await (isPostgres ? startPostgres() : startMysql())
if (isPostgres) await new Client(server.url).connect()
else await createConnection(server.url)

serveWorker({
  async freeze() {
    await server.pause()
    const { pids, folders } = owned()
    return { pids, folder: folders[0] }
  },
})
