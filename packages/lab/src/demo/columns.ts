/** What timelines are made of: columns of time, painted cells, an axis. Pure. */

import type { Paint } from './style.ts'

export interface Span {
  readonly from: number
  readonly to: number
}

export interface Window {
  readonly from: number
  readonly to: number
  /** The moment that is called 0 s. */
  readonly zero: number
}

/** What the axis counts in. */
export interface Unit {
  readonly name: string
  readonly ms: number
}

/** A window cut into columns. */
export function spansOf({ from, to }: Window, count: number): Span[] {
  const step = (to - from) / count
  return Array.from({ length: count }, (_, i) => ({ from: from + i * step, to: from + (i + 1) * step }))
}

export function meet(a: Span, b: Span): boolean {
  return a.from < b.to && b.from < a.to
}

export interface PaintedCell {
  readonly sign: string
  readonly paint: Paint
}

/** Paints runs of one colour at once, so that the output stays small. */
export function joinPainted(cells: readonly PaintedCell[]): string {
  const end = cells.findLastIndex(({ sign }) => sign !== ' ') + 1
  let text = ''
  for (let i = 0; i < end;) {
    const { paint } = cells[i] as PaintedCell
    let run = ''
    for (; i < end && cells[i]?.paint === paint; i++) run += (cells[i] as PaintedCell).sign
    text += paint(run)
  }
  return text
}

/** Ticks at round times, with their labels beneath. */
export function axis({ from, to, zero }: Window, columns: number, unit: Unit): string[] {
  // Room for each label.
  const step = roundStep((to - from) / Math.max(1, Math.min(6, Math.floor(columns / 10))))
  const ticks = Array.from({ length: columns }, () => '─')
  const labels = Array.from({ length: columns }, () => ' ')
  for (let at = Math.ceil((from - zero) / step) * step; at < to - zero; at += step) {
    const column = Math.floor(((at + zero - from) / (to - from)) * columns)
    const label = `${(at / unit.ms).toFixed(step < 100 ? 2 : 1)} ${unit.name}`
    if (column + label.length > columns) break
    ticks[column] = '┴'
    label.split('').forEach((letter, i) => (labels[column + i] = letter))
  }
  return [ticks.join(''), labels.join('').trimEnd()]
}

/** The least of 10, 20, 50, 100, … that is not less. */
function roundStep(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(ms, 10)))
  return ([1, 2, 5, 10].find((factor) => factor * power >= ms) as number) * power
}
