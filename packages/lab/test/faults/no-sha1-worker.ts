import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { createHoldfast } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { connectClient, type ClientKind } from '../../src/clients.ts'
import { serveWorker } from '../../src/servers/worker-side.ts'

/**
 * A process in which nothing can make a SHA-1, as on machines that are restricted to what FIPS approves. The scripts' own
 * were made by the build (here: by the loader, before this line runs).
 */

const { createHash, createHmac } = crypto
const isSha1 = (name: unknown) => /^(rsa-)?sha-?1$/i.test(String(name))
const refuse = (name: unknown) => {
  if (isSha1(name)) throw new Error('error:0308010C:digital envelope routines::unsupported')
}
Object.assign(crypto, {
  createHash: (...args: Parameters<typeof createHash>) => {
    refuse(args[0])
    return createHash(...args)
  },
  createHmac: (...args: Parameters<typeof createHmac>) => {
    refuse(args[0])
    return createHmac(...args)
  },
})
if ('hash' in crypto) {
  const hash = crypto.hash as (name: string, ...rest: unknown[]) => unknown
  Object.assign(crypto, {
    hash: (name: string, ...rest: unknown[]) => {
      refuse(name)
      return hash(name, ...rest)
    },
  })
}
syncBuiltinESMExports()

function tryCrypto(): string {
  try {
    return crypto.createHash('sha1').update('x').digest('hex')
  } catch (error) {
    return String(error).includes('unsupported') ? 'unsupported' : String(error)
  }
}

serveWorker({
  async cycle(kind: ClientKind, url: string) {
    const client = await connectClient(kind, url)
    const hf = createHoldfast({ store: redisStore(client.client), prefix: `sha1-${kind}` })
    try {
      await client.send('SCRIPT', 'FLUSH')
      const held = await hf.lock('a').acquire()
      await held.extend('1m')
      const released = await held.release()
      const long = await hf.lock('x'.repeat(10_000)).acquire()
      return { released: { ...released }, longName: { ...(await long.release()) }, sha1: tryCrypto() }
    } finally {
      await hf.close()
      client.close()
    }
  },
})
