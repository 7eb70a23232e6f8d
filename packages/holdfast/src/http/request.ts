/** What is read of a request. The `Headers` of Fetch fit as they are. */
export interface HttpRequest {
  /** As `GET`. */
  readonly method: string
  /** The request target (`/orders?page=2`), or a whole URL where the framework has only that. */
  readonly url: string
  readonly headers: HeadersLike
  /** The address of the peer of the socket; `undefined` for a Unix socket, or when the connection is gone. */
  readonly remoteAddress: string | undefined
  /** As `1.1` or `2.0`; `undefined` where the framework does not tell. */
  readonly httpVersion?: string | undefined
  /** Names and values of the header lines in turn, as they came, where the server tells them: several lines of one name are told apart by it. */
  readonly rawHeaders?: readonly string[] | undefined
}

/** What is used of the `Headers` of Fetch. */
export interface HeadersLike {
  /** The value of a header, several ones joined by `, `. The name is given in lower case. */
  get(name: string): string | null
}

/** What is used of a request of node:http and node:http2. */
export interface NodeRequestLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Express: the target before routers cut their own path off. */
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly httpVersion?: string | undefined
  readonly rawHeaders?: readonly string[] | undefined
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined
}

/** The headers of a request of Node, with those that come as one text. */
export type NodeHeadersSeen = NodeRequestLike['headers'] & {
  readonly authorization?: string | undefined
  readonly host?: string | undefined
  readonly 'user-agent'?: string | undefined
}

/** A request of Node, seen as the core sees it. Copies nothing. */
export function nodeRequest(request: NodeRequestLike): HttpRequest {
  return {
    method: request.method ?? 'GET',
    url: request.originalUrl ?? request.url ?? '/',
    headers: { get: (name) => nodeHeader(request.headers, name) },
    remoteAddress: request.socket?.remoteAddress,
    httpVersion: request.httpVersion,
    rawHeaders: request.rawHeaders,
  }
}

/** Headers as Fetch has them, of those or of a plain object, whose names may be in any case. */
export function headersLike(given: HeadersLike | NodeRequestLike['headers']): HeadersLike {
  if (typeof given.get === 'function') return given as HeadersLike
  const plain = Object.entries(given as NodeRequestLike['headers'])
  const lower = Object.fromEntries(plain.map(([name, value]) => [name.toLowerCase(), value]))
  return { get: (name) => nodeHeader(lower, name) }
}

function nodeHeader(headers: NodeRequestLike['headers'], name: string): string | null {
  // HTTP/2 tells the host in a pseudo-header.
  const value = headers[name] ?? (name === 'host' ? headers[':authority'] : undefined)
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}
