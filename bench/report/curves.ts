import { bars, decisionPanel, handOverPanel } from './bars.ts'
import type { Row } from './rows.ts'
import { element } from './svg.ts'
import { STYLE } from './theme.ts'
import { cyclePanel, takesPanel, throughputLines } from './throughput-lines.ts'

const WIDTH = 900
/** Of a row of panels. */
const HEIGHT = 360
const MIDDLE = 480

/** The run in one picture: throughput over concurrency, how fast a contended lock passes on, and the same for limits. */
export function curvesOf(rows: readonly Row[]): string {
  const find = (id: string) => rows.find((row) => row.id === id)
  const description =
    'Locks: throughput over concurrency, and hand-overs a second; limits: decisions a second; against raw Redis and the best peer'
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${WIDTH} ${2 * HEIGHT}`,
      width: WIDTH,
      height: 2 * HEIGHT,
      role: 'img',
      'aria-label': description,
    },
    [
      '',
      element('style', {}, STYLE),
      ...throughputLines(cyclePanel, find, left(0)),
      ...bars(handOverPanel, find, right(0)),
      ...throughputLines(takesPanel, find, left(HEIGHT)),
      ...bars(decisionPanel, find, right(HEIGHT)),
      '',
    ].join('\n'),
  )}\n`
}

function left(top: number): Box {
  return { left: 0, top, width: MIDDLE - 40, height: HEIGHT }
}

function right(top: number): Box {
  return { left: MIDDLE, top, width: WIDTH - MIDDLE, height: HEIGHT }
}

export type FindRow = (id: string) => Row | undefined

export interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** 950, 12.3 k, 123 k. */
export function short(value: number): string {
  if (value < 1_000) return value.toFixed(0)
  return value < 99_950 ? `${(value / 1_000).toFixed(1)} k` : `${(value / 1_000).toFixed(0)} k`
}
