import { performance } from 'node:perf_hooks'
import type { Socket } from 'node:net'
import { Alarm } from './alarm.ts'

/** How bytes of one direction travel. */
export type Manner =
  | { readonly kind: 'pass'; readonly delay: number; readonly jitter: number }
  | { readonly kind: 'hold' }
  | { readonly kind: 'drop' }

export const PASS: Manner = { kind: 'pass', delay: 0, jitter: 0 }

/** What a pipe does when its bytes are through; the proxy's connection decides what that means. */
export interface PipeEnds {
  readonly source: Socket
  readonly destination: Socket
  /** Looks at all that is sent, before the manner is applied; gives back what shall travel. */
  intercept(pipe: Pipe, bytes: Buffer): Buffer | undefined
  /** Resets both sides of the connection. */
  reset(): void
}

/** Within so many milliseconds a receiver that is not stopped has read what it was sent. */
const READ_WITHIN_MS = 10

/** Above so many waiting bytes the source is read no further, as with a network whose windows are full. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024

/** One direction of one connection: passes on, holds, delays or drops bytes, always in order. */
export class Pipe {
  readonly #ends: PipeEnds
  readonly #alarm = new Alarm(() => this.#flush())
  #manner: Manner
  #queue: Parcel[] = []
  #queuedBytes = 0
  #lastDue = 0
  #lastWriteAt = -Infinity
  #lostBytes = false
  #over = false

  constructor(ends: PipeEnds, manner: Manner) {
    this.#ends = ends
    this.#manner = manner
    ends.destination.on('drain', () => this.#resumeSource())
  }

  /** Whether bytes were dropped, so that the stream makes no sense any more. */
  get lostBytes(): boolean {
    return this.#lostBytes
  }

  /** From now on. What waits keeps its place; back to passing, it goes first. */
  set manner(manner: Manner) {
    this.#manner = manner
    if (manner.kind === 'pass') this.#flush()
    else if (manner.kind === 'drop') this.#discard()
  }

  /** Sends bytes on their way, optionally so many milliseconds later than the others. */
  send(bytes: Buffer, later = 0): void {
    const remaining = this.#ends.intercept(this, bytes)
    if (remaining !== undefined) this.#enqueue(remaining, undefined, later)
  }

  /** The source has ended: so will the destination, behind all that waits. */
  end(): void {
    this.#enqueue(NOTHING, 'end')
  }

  /** The source was reset. Behind waiting bytes this arrives as an end, since a reset could overtake them. */
  sourceReset(): void {
    this.#enqueue(NOTHING, this.#queue.length > 0 ? 'end' : 'reset')
  }

  /** Sends the last bytes, then resets the connection. */
  sendThenReset(bytes: Buffer): void {
    this.#enqueue(bytes, 'reset')
  }

  /** Bytes of this direction were lost. */
  noteLoss(): void {
    this.#lostBytes = true
  }

  /** Forgets all that waits; nothing is sent any more. */
  close(): void {
    this.#over = true
    this.#alarm.clear()
    this.#discard()
  }

  #enqueue(bytes: Buffer, then: Parcel['then'], later = 0): void {
    if (this.#over) return
    const manner = this.#manner
    if (manner.kind === 'drop') {
      this.#lostBytes = true
      return
    }
    if (manner.kind === 'pass') {
      const delay = manner.delay + later + (manner.jitter > 0 ? Math.random() * manner.jitter : 0)
      if (delay === 0 && this.#queue.length === 0) return this.#deliver(bytes, then)
      this.#lastDue = Math.max(this.#lastDue, performance.now() + delay)
    }
    this.#queue.push({ bytes, then, due: manner.kind === 'hold' ? 0 : this.#lastDue })
    this.#queuedBytes += bytes.length
    if (this.#queuedBytes > MOST_WAITING_BYTES) this.#ends.source.pause()
    if (manner.kind === 'pass') this.#alarm.set((this.#queue[0] as Parcel).due)
  }

  #flush(): void {
    if (this.#manner.kind !== 'pass' || this.#over) return
    const now = performance.now()
    let due = 0
    while (due < this.#queue.length && (this.#queue[due] as Parcel).due <= now) due++
    if (due > 0) {
      const parcels = this.#queue.splice(0, due)
      const { destination } = this.#ends
      destination.cork()
      for (const { bytes, then } of parcels) {
        this.#queuedBytes -= bytes.length
        this.#deliver(bytes, then)
      }
      destination.uncork()
      this.#resumeSource()
    }
    const next = this.#queue[0]
    if (next !== undefined) this.#alarm.set(next.due)
  }

  #deliver(bytes: Buffer, then: Parcel['then']): void {
    const { source, destination } = this.#ends
    if (then !== undefined) this.#over = true
    if (bytes.length > 0 && destination.writable) {
      this.#lastWriteAt = performance.now()
      const flowsOn = destination.write(bytes)
      if (!flowsOn && then === undefined) source.pause()
    }
    if (then === 'end') destination.end()
    else if (then === 'reset') this.#resetOnceRead()
  }

  /**
   * A reset makes the receiver forget what it has not read yet, if it notices the reset in a write of its own, or has
   * not accepted the connection yet. So what went before is given a moment to be read, and a receiver in this process a
   * turn of its event loop, should the moment have passed while that was busy.
   */
  #resetOnceRead(): void {
    const quietFor = performance.now() - this.#lastWriteAt
    if (quietFor >= READ_WITHIN_MS) return this.#ends.reset()
    setTimeout(() => setImmediate(() => this.#ends.reset()), READ_WITHIN_MS - quietFor)
  }

  #resumeSource(): void {
    const roomy = this.#queuedBytes <= MOST_WAITING_BYTES && !this.#ends.destination.writableNeedDrain
    if (roomy && this.#ends.source.isPaused()) this.#ends.source.resume()
  }

  #discard(): void {
    if (this.#queue.length > 0) this.#lostBytes = true
    this.#queue = []
    this.#queuedBytes = 0
    this.#resumeSource()
  }
}

interface Parcel {
  readonly bytes: Buffer
  /** What happens to the destination behind these bytes. */
  readonly then: 'end' | 'reset' | undefined
  /** When it may go, by `performance.now()`. */
  readonly due: number
}

const NOTHING = Buffer.alloc(0)
