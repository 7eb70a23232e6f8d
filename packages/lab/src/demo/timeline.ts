/** Draws who held the lock when: a bar for each process, and below them where two held it at once. Pure. */

import type { Hold, Mark, Span, Story } from './story.ts'
import type { Paint, Style } from './style.ts'
import { wrap } from './table.ts'

export interface Window {
  readonly from: number
  readonly to: number
  /** The moment that is called 0 s. */
  readonly zero: number
}

/** Of two marks in one column the earlier of these is drawn. */
const MARKS: readonly { readonly kind: Mark['kind']; readonly sign: string; readonly meaning: string }[] = [
  { kind: 'refused', sign: 'R', meaning: 'late write refused' },
  { kind: 'foreign-delete', sign: 'D', meaning: "deletes another's lock" },
  { kind: 'charge', sign: '$', meaning: 'charges' },
  { kind: 'told', sign: 'T', meaning: 'is told of the loss' },
  { kind: 'expiry', sign: 'x', meaning: 'lock expires' },
]

const BARS = [
  { sign: '█', meaning: 'at work' },
  { sign: '▒', meaning: 'at work, its lock is gone' },
  { sign: '!', meaning: 'two at work at once' },
]

const WAITS = { sign: '·', meaning: 'waits' }

/** Columns before the bars: `    P1  `. */
const MARGIN = 8

/** What the signs mean: those of the bars, and these. */
export function legend(kinds: readonly (Mark['kind'] | 'waits')[], width: number, style: Style): string[] {
  const marks = MARKS.filter(({ kind }) => kinds.includes(kind))
  const waits = kinds.includes('waits') ? [WAITS] : []
  const signs = [...BARS, ...waits, ...marks].map(({ sign, meaning }) => `${sign} ${meaning}`)
  return wrap(signs, width - 2, '   ').map((line) => style.dim(`  ${line}`))
}

/** How many columns the bars take of `width`. */
export function barColumns(width: number): number {
  return width - MARGIN
}

export function drawTimeline(
  story: Story,
  lanes: readonly string[],
  window: Window,
  width: number,
  style: Style,
): string[] {
  const columns = spans(window, barColumns(width))
  const bars = lanes.map((lane) => `    ${style.strong(lane)}  ${bar(story, lane, columns, style)}`)
  const both = columns.map((column) => (story.doubleHolds.some((each) => meet(each, column)) ? '!' : ' '))
  const clash = both.includes('!') ? [`    ${' '.repeat(4)}${style.bad(both.join('').trimEnd())}`] : []
  return [
    ...bars,
    ...clash,
    ...axis(window, columns.length).map((line) => ' '.repeat(MARGIN) + style.dim(line)),
  ]
}

function spans({ from, to }: Window, count: number): Span[] {
  const step = (to - from) / count
  return Array.from({ length: count }, (_, i) => ({ from: from + i * step, to: from + (i + 1) * step }))
}

function meet(a: Span, b: Span): boolean {
  return a.from < b.to && b.from < a.to
}

function bar(story: Story, lane: string, columns: readonly Span[], style: Style): string {
  const own = <T extends { lane: string }>(all: readonly T[]) => all.filter((each) => each.lane === lane)
  const holds = own(story.holds)
  const marks = own(story.marks)
  const waits = own(story.waits)
  return joinPainted(columns.map((column) => cell(column, holds, marks, waits, style)))
}

interface PaintedCell {
  readonly sign: string
  readonly paint: Paint
}

function cell(
  column: Span,
  holds: readonly Hold[],
  marks: readonly Mark[],
  waits: readonly Span[],
  style: Style,
): PaintedCell {
  const here = marks.filter(({ at }) => at >= column.from && at < column.to)
  const mark = MARKS.find(({ kind }) => here.some((each) => each.kind === kind))
  if (mark !== undefined) return { sign: mark.sign, paint: isGood(mark.kind) ? style.good : style.bad }
  const present = holds.filter((hold) => meet(hold, column))
  const gone = present.some(({ lockEnd }) => lockEnd !== null && lockEnd.at < column.to)
  if (gone) return { sign: '▒', paint: style.warn }
  if (present.length > 0) return { sign: '█', paint: style.good }
  return { sign: waits.some((wait) => meet(wait, column)) ? WAITS.sign : ' ', paint: style.dim }
}

function isGood(kind: Mark['kind']): boolean {
  return kind === 'refused' || kind === 'told'
}

/** Paints runs of one colour at once, so that the output stays small. */
function joinPainted(cells: readonly PaintedCell[]): string {
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
function axis({ from, to, zero }: Window, columns: number): string[] {
  // Room for each label.
  const step = roundStep((to - from) / Math.max(1, Math.min(6, Math.floor(columns / 10))))
  const ticks = Array.from({ length: columns }, () => '─')
  const labels = Array.from({ length: columns }, () => ' ')
  for (let at = Math.ceil((from - zero) / step) * step; at < to - zero; at += step) {
    const column = Math.floor(((at + zero - from) / (to - from)) * columns)
    const label = `${(at / 1000).toFixed(step < 100 ? 2 : 1)} s`
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
