import type { Clock, Timer } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import { StoreFailure } from '../../store/failure.ts'

/** How long a connection that was lost is waited for before it is tried again, in milliseconds. */
export const reconnectDelay = (times: number): number => Math.min(2_000, 50 * 2 ** Math.min(times, 6))

/** The events of an EventEmitter, as much as we use. */
export interface ClientEvents {
  on(event: string, listener: (...args: unknown[]) => void): unknown
  off(event: string, listener: (...args: unknown[]) => void): unknown
}

/**
 * Watches a client's connection: counts connections, and lets commands wait for one. Waiting here instead of in the client's
 * offline queue means that a command whose time is over was never sent, and none runs later.
 */
export class ConnectionWatch {
  readonly #clock: Clock
  readonly #takeOff: () => void
  readonly #waiting = new Set<() => void>()
  readonly #listeners: (() => void)[] = []
  readonly #endListeners: (() => void)[] = []
  /** Grows with each connection that begins. */
  count = 0
  #distrusted = -1

  readonly #onReady = (): void => {
    this.count += 1
    for (const listener of this.#listeners) listener()
    this.#proceed()
  }

  /** Its owner closed it: who waits for a connection finds that out now. */
  readonly #onEnd = (): void => {
    this.#proceed()
    for (const listener of this.#endListeners) listener()
  }

  /** @param names what the client calls the events of a connection that can be used, and of its own end */
  constructor(
    client: ClientEvents,
    clock: Clock,
    { begin, end }: { readonly begin: string; readonly end: string } = { begin: 'ready', end: 'end' },
  ) {
    this.#clock = clock
    client.on(begin, this.#onReady)
    client.on(end, this.#onEnd)
    this.#takeOff = () => {
      client.off(begin, this.#onReady)
      client.off(end, this.#onEnd)
    }
  }

  onConnection(listener: () => void): void {
    this.#listeners.push(listener)
  }

  onEnd(listener: () => void): void {
    this.#endListeners.push(listener)
  }

  /** Resolves at the next connection, or when there will be none; rejects at `until` (monotonic milliseconds). */
  next(until: number, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const proceed = (): void => {
        timer.cancel()
        resolve()
      }
      const timer: Timer = this.#clock.setTimer(
        () => {
          this.#waiting.delete(proceed)
          reject(notConnected(what))
        },
        Math.max(0, until - this.#clock.monotonic()),
      )
      this.#waiting.add(proceed)
    })
  }

  /** Marks the present connection as one not to be used; true the first time. */
  distrust(): boolean {
    const first = this.#distrusted !== this.count
    this.#distrusted = this.count
    return first
  }

  detach(): void {
    this.#takeOff()
  }

  #proceed(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const proceed of waiting) proceed()
  }
}

function notConnected(client: string): StoreFailure {
  return new StoreFailure(`the ${client} client has no connection to the server`, {
    kind: 'unreachable',
    outcome: 'not-done',
    final: false,
    reason: 'connection',
  })
}

/**
 * Begins something, and begins it again after a pause while it fails: a server that is busy, or a right that is given later.
 */
export class Persistence {
  readonly #clock: Clock
  readonly #attempt: () => Promise<void>
  #timer: Timer | null = null
  #stopped = false

  constructor(clock: Clock, attempt: () => Promise<void>) {
    this.#clock = clock
    this.#attempt = attempt
  }

  begin(): void {
    this.#timer?.cancel()
    this.#attempt().catch(() => {
      if (!this.#stopped) this.#timer = this.#clock.setTimer(() => this.begin(), bounds.safetyPoll)
    })
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }
}
