/** What is used of a response to hide that its client has gone. */
interface LeftResponse {
  emit: (this: unknown, event: string | symbol, ...given: unknown[]) => boolean
}

/** Members of a response by which frameworks and streams see that nobody listens, as they are while somebody does. */
const TELLING: Readonly<Record<string, unknown>> = {
  destroyed: false,
  _closed: false,
  // Koa, and `send` of Express, ask the socket; without one a response is as good as new.
  socket: null,
  writableNeedDrain: false,
}

/**
 * Hides from whatever answers a request that its client has gone: frameworks, `pipe` and `pipeline` stop then, and their answer is
 * wanted for the repeat. Events of the departure are told when it is hidden no longer.
 */
export class HiddenDeparture {
  readonly #response: LeftResponse
  readonly #isHidden: () => boolean
  readonly #left: () => void
  readonly #brokenOff: () => void
  readonly #emit: LeftResponse['emit']
  readonly #telling: LeftResponse['emit']
  #shaded: [string, PropertyDescriptor | undefined][] = []
  #kept: [string | symbol, ...unknown[]][] = []
  readonly #sources = new Set<PipedSource>()
  #hasLeft = false

  /**
   * @param isHidden whether a departure is hidden at present
   * @param left called when the client goes
   * @param brokenOff called when, after that, what was piped into the response is destroyed before its end
   */
  constructor(response: object, isHidden: () => boolean, left: () => void, brokenOff: () => void) {
    this.#response = response as LeftResponse
    this.#isHidden = isHidden
    this.#left = left
    this.#brokenOff = brokenOff
    const { emit } = this.#response
    this.#emit = emit
    this.#telling = (event, ...given) => {
      if (event === 'pipe') this.#watch(given[0] as PipedSource)
      // HTTP/2 tells of a response that was cut off as of one that is finished.
      const isKept = (event === 'close' || event === 'finish') && this.#isHidden()
      if (!isKept) return this.#emit.call(response, event, ...given)
      this.#kept.push([event, ...given])
      if (event === 'close') this.leave()
      return true
    }
    this.#response.emit = this.#telling
  }

  /** Whether the client has gone while that was hidden. */
  get hasLeft(): boolean {
    return this.#hasLeft
  }

  /** The client goes, or has gone already. */
  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    for (const [name, value] of Object.entries(TELLING)) {
      if (!(name in this.#response)) continue
      this.#shaded.push([name, Object.getOwnPropertyDescriptor(this.#response, name)])
      Object.defineProperty(this.#response, name, { value, writable: true, configurable: true })
    }
    this.#left()
    // Who waits for the socket to take more waits in vain.
    queueMicrotask(() => this.#response.emit('drain'))
    for (const source of this.#sources) this.#notice(source)
  }

  /** Hides nothing any more. */
  lift(): void {
    for (const [name, before] of this.#shaded.splice(0)) {
      if (before === undefined) Reflect.deleteProperty(this.#response, name)
      else Object.defineProperty(this.#response, name, before)
    }
    // Somebody may have put a wrapper of his own around ours.
    if (this.#response.emit === this.#telling) this.#response.emit = this.#emit
    const kept = this.#kept.splice(0)
    if (kept.length > 0) queueMicrotask(() => kept.forEach((each) => this.#response.emit(...each)))
  }

  #watch(source: PipedSource): void {
    this.#sources.add(source)
    source.once('close', () => this.#notice(source))
  }

  /** A source that is destroyed before its end will not end the response, and its client cannot tell the server so. */
  #notice({ destroyed, readableEnded }: PipedSource): void {
    if (this.#hasLeft && this.#isHidden() && destroyed === true && readableEnded === false) this.#brokenOff()
  }
}

/** What is used of a stream that is piped into a response. */
interface PipedSource {
  readonly destroyed?: boolean
  readonly readableEnded?: boolean
  once(event: 'close', listener: () => void): unknown
}
