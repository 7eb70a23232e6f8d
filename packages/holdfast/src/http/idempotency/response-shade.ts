/** Members of a response that tell that it has ended. */
const TELLING = ['headersSent', 'writableEnded'] as const
/** Members that refuse once the head is sent. */
const SETTING = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader'] as const

/**
 * Makes a response look as if it had ended while its end is held back: what runs on after its `end()`, as a handler for all that
 * was not found, must not answer a second time.
 */
export class ResponseShade {
  readonly #response: object
  #status = 0
  #cast: string[] = []

  constructor(response: object) {
    this.#response = response
  }

  /** @param status the one that was recorded */
  cast(status: number): void {
    this.#status = status
    for (const name of TELLING) this.#define(name, { get: () => true })
    for (const name of SETTING) {
      if (typeof (this.#response as Record<string, unknown>)[name] === 'function')
        this.#define(name, { value: refuse })
    }
  }

  lift(): void {
    for (const name of this.#cast) Reflect.deleteProperty(this.#response, name)
    this.#cast = []
    const response = this.#response as { statusCode: number; headersSent: boolean }
    // Setting it after the end has no effect in Node.
    if (!response.headersSent) response.statusCode = this.#status
  }

  #define(name: string, how: PropertyDescriptor): void {
    // One that somebody in front of us has put there stays.
    if (Object.hasOwn(this.#response, name)) return
    Object.defineProperty(this.#response, name, { ...how, configurable: true })
    this.#cast.push(name)
  }
}

function refuse(): never {
  const error = new Error('Cannot set headers after they are sent to the client')
  throw Object.assign(error, { code: 'ERR_HTTP_HEADERS_SENT' })
}
