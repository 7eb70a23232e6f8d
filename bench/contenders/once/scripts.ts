import { createHash, randomUUID } from 'node:crypto'
import { connectIoredis, type Ioredis } from '../packages.ts'
import { OUTCOME, type Once, type OnceKind } from './once.ts'

/**
 * The floor: what one writes by hand. A script that claims the key under an owner, with an expiry, and one that compares the owner
 * and writes the outcome; a repeat is one GET. No renewal, no fingerprint, nothing for a runner that died.
 */

const CLAIM = `
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return redis.call('GET', KEYS[1])`

const COMPLETE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`

const LEASE_MS = '30000'
const RETENTION_MS = '86400000'

class TwoScripts implements Once {
  readonly #client: Ioredis
  readonly #claim: string
  readonly #complete: string

  constructor(client: Ioredis, claim: string, complete: string) {
    this.#client = client
    this.#claim = claim
    this.#complete = complete
  }

  async first(key: string): Promise<unknown> {
    const owner = randomUUID()
    const name = `once:${key}`
    await this.#client.evalsha(this.#claim, 1, name, owner, LEASE_MS)
    await this.#client.evalsha(this.#complete, 1, name, owner, JSON.stringify(OUTCOME), RETENTION_MS)
    return OUTCOME
  }

  async replay(key: string): Promise<unknown> {
    return JSON.parse((await this.#client.get(`once:${key}`)) ?? 'null') as unknown
  }

  isOutcome(answer: unknown): boolean {
    return answer === OUTCOME
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

const sha1Of = (source: string) => createHash('sha1').update(source).digest('hex')

export const twoScripts: OnceKind = {
  role: 'floor',
  settings: 'ioredis 5, its defaults; EVALSHA to claim, EVALSHA to complete; GET to replay',
  async open(url) {
    const client = await connectIoredis(url)
    for (const source of [CLAIM, COMPLETE]) await client.script('LOAD', source)
    return new TwoScripts(client, sha1Of(CLAIM), sha1Of(COMPLETE))
  },
}
