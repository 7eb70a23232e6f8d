/** The limits as table and drawings. Pure. */

import type { StoreName } from '../options.ts'
import type { Style } from '../style.ts'
import { drawTable, wrap } from '../table.ts'
import { plural } from '../words.ts'
import { drawEdges, drawMinutes, drawTraffic, marginFor, trafficLegend } from './drawing.ts'
import { EDGE_LANES } from './edge.ts'
import { AHEAD, DYING, LIMIT, LIMIT_LANES, MINUTE } from './gate.ts'
import { LATER, REQUESTS } from './scene.ts'
import type { EdgeResult, LimitResult, LimitResults } from './scene.ts'
import { countOf, mostInAnyMinute } from './traffic.ts'
import type { Request } from './traffic.ts'

export function reportLimits(
  { variants, edge }: LimitResults,
  store: StoreName,
  width: number,
  style: Style,
): string[] {
  return [
    style.strong(
      `Limit: one user, ${LIMIT} a minute, ${REQUESTS} requests in a minute, ${LIMIT_LANES.length} processes`,
    ),
    ...paragraph(introduction(store), width),
    '',
    ...drawTable(
      {
        head: ['variant', 'admitted', 'most in any minute', 'later', 'what happened in this run'],
        rows: variants.map((result) => rowOf(result, style)),
      },
      width,
      style,
    ),
    '',
    ...trafficLegend(width, style),
    ...variants.flatMap((result) => ['', ...drawingOf(result, width, style)]),
    '',
    ...reportEdge(edge, width, style),
  ]
}

function introduction(store: StoreName): string {
  const accidents =
    store === 'redis'
      ? `${DYING} dies in its first request, and the clock of ${AHEAD} is a minute ahead.`
      : `${DYING} dies in its first request. (A script that trusts its callers' clocks is left out: all who use a file of ` +
        'SQLite share the clock of one machine.)'
  return (
    `A minute takes ${MINUTE / 1000} s here. The requests come in bursts, as a page asks for many things at once. ` +
    `${accidents} A minute after all that the user comes back with ${LATER} requests ("later").`
  )
}

function rowOf(result: LimitResult, style: Style) {
  const most = mostInAnyMinute(result.requests)
  const later = countOf(result.later, 'admitted')
  return [
    { text: result.name, paint: style.strong },
    { text: String(countOf(result.requests, 'admitted')) },
    { text: String(most), paint: most > LIMIT ? style.bad : style.good },
    { text: `${later} of ${result.later.length}`, paint: later === 0 ? style.bad : style.good },
    { text: whatHappened(result, most, later) },
  ]
}

function whatHappened(result: LimitResult, most: number, later: number): string {
  const lost = countOf(result.requests, 'unanswered') + countOf(result.later, 'unanswered')
  const unanswered = lost > 0 ? ` ${plural(lost, 'request')} had no answer in time.` : ''
  return sentence(result, most, later) + unanswered
}

function sentence({ name, staysForEver }: LimitResult, most: number, later: number): string {
  const tooMany = most - LIMIT
  switch (name) {
    case 'incr-expire':
      return staysForEver
        ? `${DYING} died between INCR and EXPIRE. The count has no expiry: ` +
            (later === 0 ? 'the user is locked out for good.' : 'it only grows.')
        : 'The count got its expiry this time: luck.'
    case 'get-then-set':
      return tooMany > 0
        ? `${tooMany} too many: requests that came at once read the same count, and wrote back the same number.`
        : 'No two requests read the same count this time: luck.'
    case 'callers-clocks':
      return tooMany > 0
        ? `${tooMany} too many: to ${AHEAD} all that the others counted is older than a minute, so it throws that away.`
        : `${AHEAD} threw nothing away this time: luck.`
    case 'holdfast':
      return ours(most, later)
  }
}

function ours(most: number, later: number): string {
  if (most > LIMIT) return `${most - LIMIT} too many. This must not happen: please report it.`
  const exact =
    most === LIMIT ? `Exactly ${LIMIT}, and not one more.` : `Never more than ${most} in a minute.`
  const back = later > 0 ? ' A minute later the user is welcome again.' : ''
  return `${exact} The store decides in one step, by its own clock.${back}`
}

function drawingOf({ name, requests, later, deaths }: LimitResult, width: number, style: Style): string[] {
  const all = [...requests, ...later]
  const zero = Math.min(...all.map(({ sent }) => sent), ...deaths.map(({ at }) => at))
  const end = Math.max(...all.map(({ answered }) => answered)) + MINUTE / 20
  const canvas = { window: { from: zero, to: end, zero }, width, margin: marginFor(LIMIT_LANES), style }
  return [
    `  ${style.strong(name)}`,
    ...drawTraffic({ lanes: LIMIT_LANES, requests: all, deaths }, canvas),
    ...drawMinutes(canvas),
  ]
}

function reportEdge({ edge, requests }: EdgeResult, width: number, style: Style): string[] {
  const window = { from: edge - 0.6 * MINUTE, to: edge + 1.5 * MINUTE, zero: edge }
  const canvas = { window, width, margin: marginFor(EDGE_LANES), style }
  return [
    style.strong(
      `The double burst at a window's edge: ${LIMIT} requests right before it, ${LIMIT} right after it`,
    ),
    ...paragraph(edgeInWords(requests), width),
    '',
    drawEdges(edge, canvas),
    // One by one, for what one of them admitted does not count for the other.
    ...EDGE_LANES.flatMap((lane) => drawTraffic({ lanes: [lane], requests: ofLane(requests, lane) }, canvas)),
    ...drawMinutes(canvas),
  ]
}

function edgeInWords(requests: EdgeResult['requests']): string {
  const [fixed, exact] = EDGE_LANES.map((lane) => mostInAnyMinute(ofLane(requests, lane))) as [number, number]
  const doubled =
    fixed > LIMIT
      ? `A fixed window begins to count anew at its edge, so ${fixed} passed within one minute.`
      : `The bursts missed the edge this time, so the fixed window let only ${fixed} pass in a minute.`
  return `${doubled} The exact window, asked about the same requests, admitted ${exact} in any minute.`
}

function ofLane(requests: readonly Request[], lane: string): Request[] {
  return requests.filter((request) => request.lane === lane)
}

function paragraph(text: string, width: number): string[] {
  return wrap(text, width - 2).map((line) => `  ${line}`)
}
