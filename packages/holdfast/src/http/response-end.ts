import type { AllowedRequest } from './rate-limit.ts'

/** What is used of a response of node:http and node:http2 to learn of its end. */
interface EndingResponse {
  readonly destroyed?: boolean
  /** HTTP/2: the response itself does not tell that it is closed, and its stream does. */
  readonly stream?: { readonly destroyed?: boolean } | null
  once(event: 'close', listener: () => void): unknown
}

/**
 * Ends an admitted request with its response: sent, given up by the client, or closed already. Nothing is listened to where
 * the request holds no slot.
 *
 * @param response a response of node:http or node:http2
 */
export function finishWithResponse(outcome: AllowedRequest, response: object): void {
  if (outcome.decision?.slot === undefined) return
  const ending = response as EndingResponse
  // `close` comes once; who asks later waits for ever, and the slot is renewed as long.
  if ((ending.stream ?? ending).destroyed === true) outcome.finish()
  else ending.once('close', () => outcome.finish())
}
