import type { Clock, Timer } from '../../clock.ts'
import { bounds } from '../../defaults.ts'
import type { PgClientClass } from './pg-shapes.ts'
import type { Subscription } from './port.ts'

const ignore = (): void => undefined

/** Milliseconds in which the server has to end a connection that we end. */
const FAREWELL_MS = 250

/** A connection of our own that listens, and is made anew after a pause when it is lost. */
export class PgSubscription implements Subscription {
  readonly #clock: Clock
  readonly #connect: () => InstanceType<PgClientClass>
  readonly #channel: string
  readonly #onMessage: (payload: string) => void
  readonly #onGap: () => void
  #client: InstanceType<PgClientClass> | null = null
  #timer: Timer | null = null
  #closed = false

  constructor(
    clock: Clock,
    connect: () => InstanceType<PgClientClass>,
    channel: string,
    onMessage: (payload: string) => void,
    onGap: () => void,
  ) {
    this.#clock = clock
    this.#connect = connect
    this.#channel = channel
    this.#onMessage = onMessage
    this.#onGap = onGap
    this.#begin()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    const client = this.#client
    this.#client = null
    if (client !== null) await this.#end(client)
  }

  /** The client itself would wait for the server for as long as that stands still. */
  async #end(client: InstanceType<PgClientClass>): Promise<void> {
    const timer = this.#clock.setTimer(() => client.connection?.stream?.destroy?.(), FAREWELL_MS)
    await client.end().catch(ignore)
    timer.cancel()
  }

  #begin(): void {
    const client = this.#connect()
    this.#client = client
    const lost = (): void => {
      if (this.#client !== client || this.#closed) return
      this.#client = null
      void this.#end(client)
      this.#timer = this.#clock.setTimer(() => this.#begin(), bounds.safetyPoll)
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', (message) => this.#onMessage(message.payload ?? ''))
    this.#listen(client).then(this.#onGap, lost)
  }

  async #listen(client: InstanceType<PgClientClass>): Promise<void> {
    await client.connect()
    client.unref?.()
    await client.query(`LISTEN "${this.#channel}"`)
  }
}
