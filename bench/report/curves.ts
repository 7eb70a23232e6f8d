import { handOverBars } from './hand-over-bars.ts'
import type { Row } from './rows.ts'
import { element } from './svg.ts'
import { STYLE } from './theme.ts'
import { throughputLines } from './throughput-lines.ts'

const WIDTH = 900
const HEIGHT = 360
const MIDDLE = 480

/** The run in one picture: throughput over concurrency, and how fast a contended lock passes on. */
export function curvesOf(rows: readonly Row[]): string {
  const find = (id: string) => rows.find((row) => row.id === id)
  const description =
    'Throughput over concurrency, and hand-overs a second, against raw Redis and the best peer'
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      role: 'img',
      'aria-label': description,
    },
    [
      '',
      element('style', {}, STYLE),
      ...throughputLines(find, { left: 0, top: 0, width: MIDDLE - 40, height: HEIGHT }),
      ...handOverBars(find, { left: MIDDLE, top: 0, width: WIDTH - MIDDLE, height: HEIGHT }),
      '',
    ].join('\n'),
  )}\n`
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
