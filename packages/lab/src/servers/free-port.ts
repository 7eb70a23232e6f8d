import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the range from which systems take the ports of outgoing connections: a client that tries again and again to
 * reach a killed server there could be given that very port and end up connected to itself, or keep the server
 * from coming back. 10 000 above lie the bus ports of a cluster.
 */
const LOWEST = 15_000
const HIGHEST = 32_000
const TRIES = 50

/** A loopback port that nobody listens on now. Somebody may take it before you do: be ready to choose again. */
export async function freePort(): Promise<number> {
  for (let i = 0; i < TRIES; i++) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port on 127.0.0.1 in ${TRIES} tries between ${LOWEST} and ${HIGHEST}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
