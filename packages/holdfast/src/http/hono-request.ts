import { InvalidArgumentError } from '../errors.ts'
import type { HonoContextLike } from './hono.ts'
import type { HttpRequest } from './request.ts'

/** What `@hono/node-server` puts into the environment. */
interface NodeBindings {
  readonly outgoing?: object
  readonly incoming?: {
    readonly httpVersion?: string
    readonly rawHeaders?: readonly string[]
    readonly socket?: { readonly remoteAddress?: string | undefined } | null
  }
}

/** A request of Hono, seen as the core sees it. */
export function honoRequest<Context extends HonoContextLike>(
  context: Context,
  remoteAddress?: (context: Context) => string | undefined,
): HttpRequest {
  const { method, url, raw } = context.req
  const { incoming } = honoBindings(context)
  return {
    method,
    url,
    headers: raw.headers,
    // Read only if a key asks for it: who has a key of his own needs no address.
    get remoteAddress() {
      if (remoteAddress !== undefined) return remoteAddress(context)
      if (incoming !== undefined) return incoming.socket?.remoteAddress
      throw new InvalidArgumentError('remoteAddress', undefined, {
        problem: 'is not given, and this server does not tell the address of a client',
        remedy: 'Give remoteAddress: (c) => getConnInfo(c).remote.address of your platform, or a key.',
      })
    },
    httpVersion: incoming?.httpVersion,
    rawHeaders: incoming?.rawHeaders,
  }
}

export function honoBindings({ env }: HonoContextLike): NodeBindings {
  return env ?? {}
}
