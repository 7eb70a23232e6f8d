import { targets } from '../targets.ts'
import type { Row } from './rows.ts'

const HEADS = ['', 'unit', 'ours', 'floor', 'best peer', '', 'ratio: min', 'median', 'max', 'target', 'met']

/** The rows as a table for a terminal. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [HEADS, ...rows.map(cellsOf)]
  const widths = HEADS.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  const text = (line: readonly string[]) =>
    line
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return LEFT.has(column) ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')
      .trimEnd()
  return lines.map(text).join('\n')
}

/** Text columns. */
const LEFT = new Set([0, 1, 5, 9])

function cellsOf(row: Row): readonly string[] {
  const { ratio } = row
  return [
    row.id,
    row.unit,
    figure(row.ours),
    figure(row.floor),
    figure(row.bestPeer),
    row.bestPeerName ?? '',
    figure(ratio?.min),
    figure(ratio?.median),
    figure(ratio?.max),
    targetText(row),
    row.met === null ? '' : row.met ? 'yes' : 'NO',
  ]
}

function targetText(row: Row): string {
  const target = targets[row.id]
  if (target === undefined) return ''
  const sign = row.better === 'higher' ? '≥' : '≤'
  const of = { 'ratio to floor': ' × floor', 'ratio to best peer': ' × best peer', value: '' }[target.of]
  return `${sign} ${figure(target.bound)}${of}`
}

/** Three digits, and thousands apart. */
function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value
    .toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: Math.min(digits, 3) })
    .replaceAll(',', ' ')
}
