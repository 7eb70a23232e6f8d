import { connectIoredis, load, type Ioredis } from '../packages.ts'
import { capacityOf, type Limiter, type LimiterKind, type OpenLimiterOptions } from './limiter.ts'

interface Answer {
  /** Before this take. */
  readonly remaining: number
}

interface OneSubject {
  get(done: (error: unknown, answer: Answer) => void): void
}

type OneSubjectClass = new (options: { id: string; db: Ioredis; max: number; duration: number }) => OneSubject

/** ratelimiter: a sorted set by the callers' clocks, in a transaction. An object for each take, as its users make it. */
class Ratelimiter implements Limiter {
  readonly #OneSubject: OneSubjectClass
  readonly #max: number
  readonly #duration: number
  readonly #client: Ioredis

  constructor(OneSubjectOf: OneSubjectClass, max: number, duration: number, client: Ioredis) {
    this.#OneSubject = OneSubjectOf
    this.#max = max
    this.#duration = duration
    this.#client = client
  }

  take(subject: string, cost: number): Promise<unknown> {
    if (cost !== 1) throw new Error('ratelimiter has no costs')
    const options = { id: subject, db: this.#client, max: this.#max, duration: this.#duration }
    const one = new this.#OneSubject(options)
    return new Promise((resolve, reject) => {
      one.get((error, answer) => {
        if (error === null || error === undefined) resolve(answer)
        else reject(error as Error)
      })
    })
  }

  allows(answer: unknown): boolean {
    return (answer as Answer).remaining > 0
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

export const ratelimiter: LimiterKind = {
  role: 'peer',
  settings: 'defaults; ioredis 5',
  async open({ url, limits: [limit, ...others] }: OpenLimiterOptions) {
    if (others.length > 0) throw new Error('it decides by one limit')
    const { default: OneSubjectOf } = await load<{ default: OneSubjectClass }>('ratelimiter')
    return new Ratelimiter(OneSubjectOf, capacityOf(limit), limit.per, await connectIoredis(url))
  },
}
