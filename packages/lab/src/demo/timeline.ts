/** Draws who held the lock when: a bar for each process, and below them where two held it at once. Pure. */

import { axis, joinPainted, meet, spansOf } from './columns.ts'
import type { PaintedCell, Span, Window } from './columns.ts'
import type { Hold, Mark, Story } from './story.ts'
import type { Style } from './style.ts'
import { wrap } from './table.ts'

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

const SECOND = { name: 's', ms: 1_000 }

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
  const columns = spansOf(window, barColumns(width))
  const bars = lanes.map((lane) => `    ${style.strong(lane)}  ${bar(story, lane, columns, style)}`)
  const both = columns.map((column) => (story.doubleHolds.some((each) => meet(each, column)) ? '!' : ' '))
  const clash = both.includes('!') ? [`    ${' '.repeat(4)}${style.bad(both.join('').trimEnd())}`] : []
  return [
    ...bars,
    ...clash,
    ...axis(window, columns.length, SECOND).map((line) => ' '.repeat(MARGIN) + style.dim(line)),
  ]
}

function bar(story: Story, lane: string, columns: readonly Span[], style: Style): string {
  const own = <T extends { lane: string }>(all: readonly T[]) => all.filter((each) => each.lane === lane)
  const holds = own(story.holds)
  const marks = own(story.marks)
  const waits = own(story.waits)
  return joinPainted(columns.map((column) => cell(column, holds, marks, waits, style)))
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
