import type { Holdfast, Idempotency, IdempotentOutcome } from 'holdfast'
import { connectIoredis, loadHoldfast } from '../packages.ts'
import { OUTCOME, type Once, type OnceKind } from './once.ts'

const work = (): string => OUTCOME

/** Ours, with every option at its default. */
class HoldfastOnce implements Once {
  readonly #hf: Holdfast
  readonly #idempotency: Idempotency
  readonly #disconnect: () => void

  constructor(hf: Holdfast, disconnect: () => void) {
    this.#hf = hf
    this.#idempotency = hf.idempotency('orders')
    this.#disconnect = disconnect
  }

  first(key: string): Promise<unknown> {
    return this.#idempotency.run({ key, scope: 'user' }, { wait: '10s' }, work)
  }

  replay(key: string): Promise<unknown> {
    return this.first(key)
  }

  isOutcome(answer: unknown): boolean {
    return (answer as IdempotentOutcome<string>).value === OUTCOME
  }

  async close(): Promise<void> {
    await this.#hf.close()
    this.#disconnect()
  }
}

export const holdfastOnce: OnceKind = {
  role: 'ours',
  settings: 'defaults; ioredis 5',
  async open(url) {
    const { createHoldfast, redisStore } = await loadHoldfast()
    const client = await connectIoredis(url)
    return new HoldfastOnce(createHoldfast({ store: redisStore(client) }), () => client.disconnect())
  },
}
