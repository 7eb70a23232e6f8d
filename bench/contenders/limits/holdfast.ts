import type { Decision, Holdfast, Limiter as HoldfastLimiter, LimiterOptions, TakeOptions } from 'holdfast'
import { connectIoredis, loadHoldfast } from '../packages.ts'
import type { Limiter, LimiterKind, OpenLimiterOptions } from './limiter.ts'

/** A limiter's name is part of every key. */
const NAME = 'api'
/** Milliseconds, in place of 100, where it is not speed that is measured. */
const PATIENT_BUDGET = 10_000

/** Ours, with every option at its default where speed is measured. */
class HoldfastContender implements Limiter {
  readonly #hf: Holdfast
  readonly #disconnect: () => void
  readonly #limiter: HoldfastLimiter

  constructor(hf: Holdfast, limiter: HoldfastLimiter, disconnect: () => void) {
    this.#hf = hf
    this.#limiter = limiter
    this.#disconnect = disconnect
  }

  take(subject: string, cost: number): Promise<Decision> {
    return cost === 1 ? this.#limiter.take(subject) : this.#takeMany(subject, { cost })
  }

  allows(answer: unknown): boolean {
    return (answer as Decision).allowed
  }

  async close(): Promise<void> {
    await this.#hf.close()
    this.#disconnect()
  }

  #takeMany(subject: string, options: TakeOptions): Promise<Decision> {
    return this.#limiter.take(subject, options)
  }
}

export const holdfastLimiter: LimiterKind = {
  role: 'ours',
  settings: 'defaults; ioredis 5',
  async open({ url, limits, lease, remembers, patient }: OpenLimiterOptions) {
    const { createHoldfast, redisStore, slidingWindow, tokenBucket } = await loadHoldfast()
    const client = await connectIoredis(url)
    const hf = createHoldfast({ store: redisStore(client) })
    const policies = limits.map((limit) =>
      limit.kind === 'bucket'
        ? tokenBucket({ capacity: limit.capacity, refill: limit.refill, per: limit.per })
        : slidingWindow({ limit: limit.limit, per: limit.per }),
    )
    const options: LimiterOptions = {}
    if (patient) options.budget = PATIENT_BUDGET
    if (lease !== null) options.lease = lease
    if (!remembers) options.rememberFor = 0
    return new HoldfastContender(hf, hf.limiter(NAME, policies, options), () => client.disconnect())
  },
}
