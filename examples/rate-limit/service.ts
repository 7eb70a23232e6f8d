import type { IncomingMessage, ServerResponse } from 'node:http'

/** What answers the requests of this example: the limited service, or its naive twin. */
export interface Service {
  handle(request: IncomingMessage, response: ServerResponse): unknown
  close(): Promise<unknown>
}
