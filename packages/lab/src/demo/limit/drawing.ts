/** Draws what passed when: a bar for each lane, and below them where too much passed. Pure. */

import { axis, joinPainted, spansOf } from '../columns.ts'
import type { PaintedCell, Span, Window } from '../columns.ts'
import type { Style } from '../style.ts'
import { wrap } from '../table.ts'
import { LIMIT, MINUTE } from './gate.ts'
import { admittedInMinuteBefore } from './traffic.ts'
import type { Request } from './traffic.ts'

/** A minute of this run on the axis. */
const UNIT = { name: 'min', ms: MINUTE }

const SIGNS = {
  admitted: '█',
  some: '▒',
  denied: '░',
  tooMany: '!',
  dies: 'x',
  edge: '┃',
} as const

const MEANINGS: Readonly<Record<keyof typeof SIGNS, string>> = {
  admitted: 'admitted',
  some: 'some admitted, some denied',
  denied: 'denied',
  tooMany: `more than ${LIMIT} in the minute that ends here`,
  dies: 'the process dies',
  edge: 'edge of a fixed window',
}

/** What the signs mean. */
export function trafficLegend(width: number, style: Style): string[] {
  const signs = Object.entries(MEANINGS).map(
    ([name, meaning]) => `${SIGNS[name as keyof typeof SIGNS]} ${meaning}`,
  )
  return wrap(signs, width - 2, '   ').map((line) => style.dim(`  ${line}`))
}

export interface TrafficDrawing {
  readonly lanes: readonly string[]
  readonly requests: readonly Request[]
  readonly deaths?: readonly { readonly lane: string; readonly at: number }[]
}

/** What is drawn on. */
export interface Canvas {
  readonly window: Window
  /** Of whole lines, in columns. */
  readonly width: number
  /** Columns before the bars. */
  readonly margin: number
  readonly style: Style
}

/** Columns before the bars of these lanes: `    P1  `. */
export function marginFor(lanes: readonly string[]): number {
  return Math.max(...lanes.map((lane) => lane.length)) + 6
}

/** The bars of some lanes, and below them where all of them together admitted too much. */
export function drawTraffic({ lanes, requests, deaths = [] }: TrafficDrawing, canvas: Canvas): string[] {
  const { style, margin } = canvas
  const columns = columnsOf(canvas)
  const bars = lanes.map((lane) => {
    const own = requests.filter((request) => request.lane === lane)
    const ends = deaths.filter((death) => death.lane === lane)
    const bar = joinPainted(columns.map((column) => cell(column, own, ends, style)))
    return `    ${style.strong(lane)}${' '.repeat(margin - 4 - lane.length)}${bar}`
  })
  const crowded = columns.map(({ to }) =>
    admittedInMinuteBefore(to, requests) > LIMIT ? SIGNS.tooMany : ' ',
  )
  const isCrowded = crowded.includes(SIGNS.tooMany)
  return isCrowded ? [...bars, ' '.repeat(margin) + style.bad(crowded.join('').trimEnd())] : bars
}

/** The edges of fixed windows, of which `edge` is one. */
export function drawEdges(edge: number, canvas: Canvas): string {
  const isEdge = ({ from, to }: Span) => Math.ceil((from - edge) / MINUTE) * MINUTE < to - edge
  const signs = columnsOf(canvas).map((column) => (isEdge(column) ? SIGNS.edge : ' '))
  return ' '.repeat(canvas.margin) + canvas.style.dim(signs.join('').trimEnd())
}

/** The axis below bars, in minutes. */
export function drawMinutes(canvas: Canvas): string[] {
  const { window, style, margin } = canvas
  return axis(window, columnsOf(canvas).length, UNIT).map((line) => ' '.repeat(margin) + style.dim(line))
}

function columnsOf({ window, width, margin }: Canvas): Span[] {
  return spansOf(window, width - margin)
}

function cell(
  column: Span,
  requests: readonly Request[],
  deaths: readonly { readonly at: number }[],
  style: Style,
): PaintedCell {
  const within = (at: number) => at >= column.from && at < column.to
  if (deaths.some(({ at }) => within(at))) return { sign: SIGNS.dies, paint: style.bad }
  const here = requests.filter(({ answered }) => within(answered))
  const admitted = here.filter(({ outcome }) => outcome === 'admitted').length
  if (here.length === 0) return { sign: ' ', paint: style.dim }
  if (admitted === 0) return { sign: SIGNS.denied, paint: style.dim }
  return { sign: admitted === here.length ? SIGNS.admitted : SIGNS.some, paint: style.good }
}
