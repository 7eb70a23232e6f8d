import type { KoaContextLike } from '../koa.ts'

/** What is used of a context to make Koa answer. */
interface AnsweringContext {
  readonly res: { readonly socket?: Failing | null; readonly stream?: Failing | null }
  readonly response: object
  onerror(error: unknown): unknown
}

interface Failing {
  readonly errored?: unknown
}

/**
 * Makes Koa answer a client whose connection is closing. It asks the socket whether somebody listens, and else ends the response
 * without its body, or not at all; but the answer is wanted for the repeat.
 *
 * @param isWanted whether the middlewares are done, and their answer has not been seen yet
 */
export function answerAnyway(given: KoaContextLike, isWanted: () => boolean): void {
  const context = given as unknown as AnsweringContext
  const { response } = context
  const plain = Object.getPrototypeOf(response) as object
  let isOfClient = false
  Object.defineProperty(response, 'writable', {
    get: () => (isWanted() && !isOfClient) || Reflect.get(plain, 'writable', response) === true,
    configurable: true,
  })
  const onerror = context.onerror.bind(context)
  context.onerror = (error) => {
    // Koa hears by the same means of a connection that broke, which is no answer of a handler.
    const { socket, stream } = context.res
    isOfClient = error instanceof Error && error === (stream ?? socket)?.errored
    try {
      return onerror(error)
    } finally {
      isOfClient = false
    }
  }
}
