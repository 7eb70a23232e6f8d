import { spawnWorker, type Worker } from '../packages/lab/src/index.ts'
import { isGuard, isLimiter, isOnce, type AnyName } from './contenders/index.ts'

const LOCK_CLIENT = new URL('./client/main.ts', import.meta.url)
const LIMIT_CLIENT = new URL('./client/limits/main.ts', import.meta.url)
const ONCE_CLIENT = new URL('./client/once/main.ts', import.meta.url)
const GUARD_CLIENT = new URL('./client/guards/main.ts', import.meta.url)
const PROXY = new URL('./proxy.ts', import.meta.url)

/**
 * Client processes, a set for each contender, so that no contender runs code that another has warmed up or worn out. They
 * are started when first needed and kept: those that do not measure sleep.
 */
export class Fleet {
  readonly #clients = new Map<AnyName, Worker[]>()
  readonly #proxies: Worker[] = []

  /** At least so many processes of a contender; with `count` 0 all that there are. */
  async clients(contender: AnyName, count: number): Promise<readonly Worker[]> {
    const present = this.#clients.get(contender) ?? []
    this.#clients.set(contender, present)
    const program = programOf(contender)
    const missing = Math.max(0, count - present.length)
    present.push(...(await Promise.all(Array.from({ length: missing }, () => spawnWorker(program)))))
    return count === 0 ? [...present] : present.slice(0, count)
  }

  /** Ends all processes of a contender: it hangs, or shall start afresh. */
  async dismiss(contender: AnyName): Promise<void> {
    const clients = this.#clients.get(contender) ?? []
    this.#clients.delete(contender)
    await Promise.all(clients.map((client) => client.kill()))
  }

  async proxy(): Promise<Worker> {
    const proxy = await spawnWorker(PROXY)
    this.#proxies.push(proxy)
    return proxy
  }

  async end(): Promise<void> {
    const names = [...this.#clients.keys()]
    await Promise.all([
      ...names.map((name) => this.dismiss(name)),
      ...this.#proxies.map((proxy) => proxy.kill()),
    ])
  }
}

function programOf(contender: AnyName): URL {
  if (isLimiter(contender)) return LIMIT_CLIENT
  if (isGuard(contender)) return GUARD_CLIENT
  return isOnce(contender) ? ONCE_CLIENT : LOCK_CLIENT
}
