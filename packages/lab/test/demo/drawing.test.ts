import { describe, expect, test } from 'vitest'
import { tellStory } from '../../src/demo/story.ts'
import { colour, noColour, styleFor, widthFor } from '../../src/demo/style.ts'
import { drawTable, wrap } from '../../src/demo/table.ts'
import { drawTimeline, legend } from '../../src/demo/timeline.ts'
import { at, hold, inOrder } from './support.ts'

/** Goal: tables and timelines can be read, in a terminal and without one. */

describe('drawTable', () => {
  const table = {
    head: ['variant', 'sold', 'what happened'],
    rows: [
      [{ text: 'none' }, { text: '200', paint: colour.bad }, { text: 'one two three four five' }],
      [{ text: 'local-mutex' }, { text: '7' }, { text: 'six' }],
    ],
  }

  test('aligns names left and numbers right, and wraps the prose within the width', () => {
    const rows = table.rows.map((row) => row.map(({ text }) => ({ text })))
    expect(drawTable({ ...table, rows }, 34, noColour)).toEqual([
      '  variant      sold  what happened',
      '  ───────────  ────  ─────────────',
      '  none          200  one two three',
      '                     four five',
      '  local-mutex     7  six',
    ])
  })

  test('paints the text, not the spaces around it', () => {
    expect(drawTable(table, 34, noColour)[2]).toBe('  none          \u001b[31m200\u001b[0m  one two three')
  })
})

describe('wrap', () => {
  test('breaks between words, keeps a long word whole, and takes words that are phrases', () => {
    expect(wrap('a bb ccc', 4)).toEqual(['a bb', 'ccc'])
    expect(wrap('abcdef gh', 4)).toEqual(['abcdef', 'gh'])
    expect(wrap('', 4)).toEqual([])
    expect(wrap(['x lock expires', 'T told'], 23, '   ')).toEqual(['x lock expires   T told'])
  })
})

describe('drawTimeline', () => {
  const log = inOrder(
    at(0, 'P1', { what: 'waits' }),
    ...hold('P1', 10, 60, 30),
    at(62, 'P1', { what: 'deleted', sent: 61, found: true }),
    at(40, 'P2', { what: 'waits' }),
    ...hold('P2', 50, 80, 30),
  )
  const window = { from: 0, to: 100, zero: 0 }

  test('shows who was at work, under which lock, and where two were', () => {
    // Ten columns of ten milliseconds.
    expect(drawTimeline(tellStory(log), ['P1', 'P2'], window, 18, noColour)).toEqual([
      '    P1  ·███x▒D',
      '    P2      ·█▒▒',
      '             !',
      '        ┴─────────',
      '        0.0 s',
    ])
  })

  test('has no line of clashes when there were none', () => {
    const lines = drawTimeline(tellStory(hold('P1', 0, 20)), ['P1', 'P2'], window, 18, noColour)
    expect(lines.slice(0, 2)).toEqual(['    P1  ██', '    P2  '])
    expect(lines).toHaveLength(4)
  })

  test('never exceeds its width, wherever the ticks fall', () => {
    for (const to of [97, 640, 920, 1_333, 15_000]) {
      const lines = drawTimeline(tellStory(log), ['P1', 'P2'], { from: 3, to, zero: 1 }, 80, noColour)
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
      expect(lines.at(-1)).toMatch(/\d s/)
    }
  })

  test('marks in colour where there are colours', () => {
    const [first = ''] = drawTimeline(tellStory(log), ['P1'], window, 18, colour)
    expect(first).toContain('\u001b[31mx\u001b[0m')
    expect(first).toContain('\u001b[33m▒\u001b[0m')
  })
})

test('the legend names the signs in use, within the width', () => {
  const lines = legend(['waits', 'expiry', 'charge', 'foreign-delete', 'told', 'refused'], 80, noColour)
  for (const sign of ['█', '▒', '·', '!', 'x', '$', 'D', 'T', 'R'])
    expect(lines.join(' ')).toContain(` ${sign} `)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  expect(legend(['expiry'], 80, noColour).join(' ')).not.toContain('·')
})

describe('styleFor and widthFor', () => {
  test('colours only on a terminal that wants them', () => {
    expect(styleFor({ isTTY: true }, {})).toBe(colour)
    expect(styleFor({ isTTY: true }, { NO_COLOR: '' })).toBe(colour)
    expect(styleFor({ isTTY: true }, { NO_COLOR: '1' })).toBe(noColour)
    expect(styleFor({ isTTY: true }, { TERM: 'dumb' })).toBe(noColour)
    expect(styleFor({}, {})).toBe(noColour)
  })

  test('never wider than 100 columns, nor than the terminal', () => {
    expect([widthFor({ columns: 300 }), widthFor({ columns: 90 }), widthFor({})]).toEqual([100, 89, 99])
  })
})
