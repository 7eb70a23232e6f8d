/** Draws tables. Pure. */

import type { Paint, Style } from './style.ts'

export interface Cell {
  readonly text: string
  readonly paint?: Paint
}

export interface Table {
  /** The last column is prose: it takes what is left of the width, and wraps. All between first and last are numbers. */
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

const GAP = '  '

/** The lines of a table that is at most `width` columns wide. */
export function drawTable({ head, rows }: Table, width: number, style: Style): string[] {
  const last = head.length - 1
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.text.length ?? 0)),
  )
  const used = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, GAP.length)
  widths[last] = Math.min(widths[last] ?? 0, width - used)
  const align = (text: string, i: number) =>
    i === 0 ? text.padEnd(widths[0] ?? 0) : i === last ? text : text.padStart(widths[i] ?? 0)
  const line = (cells: readonly Cell[]) =>
    (GAP + cells.map(({ text, paint = same }, i) => around(align(text, i), text, paint)).join(GAP)).trimEnd()

  const drawn = rows.flatMap((row) => {
    const [first = '', ...more] = wrap(row[last]?.text ?? '', widths[last] ?? 0)
    const { paint = same } = row[last] ?? {}
    const rest = more.map((text) => ' '.repeat(used) + paint(text))
    return [line([...row.slice(0, last), { text: first, paint }]), ...rest]
  })
  const titles = line(head.map((text) => ({ text, paint: style.dim })))
  const rule = GAP + style.dim(widths.map((each) => '─'.repeat(each)).join(GAP))
  return [titles, rule, ...drawn]
}

const same: Paint = (text) => text

/** Paints a text inside the spaces that align it. */
function around(aligned: string, text: string, paint: Paint): string {
  return aligned.replace(text, () => paint(text))
}

/** Joins words (of a text, or given) into lines of at most `width` characters. A longer word stays whole. */
export function wrap(text: string | readonly string[], width: number, gap = ' '): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of typeof text === 'string' ? text.split(' ') : text) {
    const longer = line === '' ? word : line + gap + word
    if (longer.length <= width || line === '') line = longer
    else {
      lines.push(line)
      line = word
    }
  }
  return line === '' ? lines : [...lines, line]
}
