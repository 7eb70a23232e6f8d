import type { IncomingMessage } from 'node:http'

/**
 * Who asks. In a service of yours this is whoever was authenticated; a header that anybody may write stands for it here. The
 * server has refused requests without it.
 */
export function userOf(request: IncomingMessage): string {
  return String(request.headers['x-user'])
}
