import type { Outcome, Request } from '../../src/demo/limit/traffic.ts'

/** One request, as `request(120, 'P1', 'denied')`; decided in the very millisecond in which it was sent, unless said. */
export function request(sent: number, lane = 'P1', outcome: Outcome = 'admitted', took = 0): Request {
  return { lane, sent, answered: sent + took, outcome }
}

/** So many of the same. */
export function times(count: number, one: Request): Request[] {
  return Array.from({ length: count }, () => one)
}
