import type { TappedResponse } from './node-tap.ts'

/** A signal that aborts when the client of a response of Node goes away. */
export function goneSignal(response: Pick<TappedResponse, 'once' | 'destroyed' | 'stream'>): AbortSignal {
  const controller = new AbortController()
  const leave = () => controller.abort(new Error('the client has gone'))
  if ((response.stream ?? response).destroyed === true) leave()
  else response.once('close', leave)
  return controller.signal
}
