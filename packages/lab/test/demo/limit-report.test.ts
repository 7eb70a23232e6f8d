import { describe, expect, test } from 'vitest'
import {
  drawEdges,
  drawMinutes,
  drawTraffic,
  marginFor,
  trafficLegend,
} from '../../src/demo/limit/drawing.ts'
import { LIMIT, MINUTE } from '../../src/demo/limit/gate.ts'
import { reportLimits } from '../../src/demo/limit/report.ts'
import type { EdgeResult, LimitResult } from '../../src/demo/limit/scene.ts'
import { limitHeld, limitSummary } from '../../src/demo/limit/summary.ts'
import { limitVariantsOn } from '../../src/demo/limit/variants/index.ts'
import { noColour } from '../../src/demo/style.ts'
import { request, times } from './limit-support.ts'

/** Goal: every run is told and drawn as it was, whether a variant failed in it or not. */

const edgeAt = 10 * MINUTE
/** A hundred right before the edge and a hundred right after it, of which the exact window admits the first. */
const burst: EdgeResult = {
  edge: edgeAt,
  requests: [
    ...times(LIMIT, request(edgeAt - 50, 'fixedWindow')),
    ...times(LIMIT, request(edgeAt + 50, 'fixedWindow')),
    ...times(LIMIT, request(edgeAt - 50, 'slidingWindow')),
    ...times(LIMIT, request(edgeAt + 50, 'slidingWindow', 'denied')),
  ],
}

function result(name: LimitResult['name'], admitted: number, parts: Partial<LimitResult> = {}): LimitResult {
  const requests = [...times(admitted, request(0)), ...times(400 - admitted, request(1, 'P2', 'denied'))]
  const later = times(10, request(2 * MINUTE))
  return { name, requests, later, deaths: [{ lane: 'P1', at: 0 }], staysForEver: false, ...parts }
}

function told(variant: LimitResult, store: 'redis' | 'sqlite' = 'redis', edge = burst): string {
  return reportLimits({ variants: [variant], edge }, store, 99, noColour)
    .join('\n')
    .replace(/\s+/g, ' ')
}

describe('the table', () => {
  test('a count without expiry locks the user out for good', () => {
    const later = times(10, request(2 * MINUTE, 'P2', 'denied'))
    const text = told(result('incr-expire', 99, { later, staysForEver: true }))
    expect(text).toContain('incr-expire 99 99 0 of 10 P1 died between INCR and EXPIRE.')
    expect(text).toContain('locked out for good')
    expect(told(result('incr-expire', 99))).toContain('luck')
  })

  test('too many are counted', () => {
    expect(told(result('get-then-set', 399))).toContain('get-then-set 399 399 10 of 10 299 too many')
    expect(told(result('callers-clocks', 244))).toContain(
      'callers-clocks 244 244 10 of 10 144 too many: to P4',
    )
  })

  test.each(['get-then-set', 'callers-clocks'] as const)(
    '%s that went well is shown as going well',
    (name) => {
      expect(told(result(name, 100))).toContain('luck')
    },
  )

  test('Holdfast: exact, or told aloud that it was not', () => {
    expect(told(result('holdfast', 100))).toContain(
      'holdfast 100 100 10 of 10 Exactly 100, and not one more.',
    )
    expect(told(result('holdfast', 101))).toContain('1 too many. This must not happen')
    // Requests that took longer than a minute in all: more than a hundred may pass.
    const slow = [...times(60, request(0)), ...times(60, request(1.5 * MINUTE))]
    expect(told(result('holdfast', 0, { requests: slow }))).toContain('Never more than 60 in a minute.')
  })

  test('requests without an answer are told', () => {
    const requests = [...times(100, request(0)), request(5, 'P2', 'unanswered')]
    expect(told(result('holdfast', 0, { requests }))).toContain('1 request had no answer in time.')
  })

  test('SQLite: says which variant is left out, and why', () => {
    expect(told(result('holdfast', 100), 'sqlite')).toContain("callers' clocks is left out")
    expect(told(result('holdfast', 100), 'redis')).toContain('the clock of P4 is a minute ahead')
    expect(limitVariantsOn('sqlite')).toEqual(['incr-expire', 'get-then-set', 'holdfast'])
  })
})

describe('the double burst', () => {
  test('both windows beside each other, with the edge', () => {
    const lines = reportLimits({ variants: [], edge: burst }, 'redis', 99, noColour)
    expect(lines.join(' ').replace(/\s+/g, ' ')).toContain('200 passed within one minute')
    const from = lines.findIndex((line) => line.startsWith('    fixedWindow'))
    const [edges = '', fixed = '', crowded = '', exact = ''] = lines.slice(from - 1)
    const edge = edges.indexOf('┃')
    expect(edge).toBeGreaterThan(0)
    expect([fixed.indexOf('█') < edge, fixed.lastIndexOf('█') > edge]).toEqual([true, true])
    // From the burst after the edge on, until the one before it is a minute old.
    expect(crowded.trimStart()).toMatch(/^!+$/)
    expect(crowded.indexOf('!')).toBe(fixed.lastIndexOf('█'))
    expect([exact.indexOf('█') < edge, exact.indexOf('░') > edge]).toEqual([true, true])
    expect(exact).toContain('slidingWindow')
  })

  test('a burst that missed the edge is told as it was', () => {
    const requests = times(LIMIT, request(edgeAt + 50, 'fixedWindow'))
    expect(told(result('holdfast', 100), 'redis', { edge: edgeAt, requests })).toContain('missed the edge')
  })
})

describe('drawTraffic', () => {
  // Ten columns of a tenth of a minute.
  const lanes = ['P1', 'P2']
  const canvas = {
    window: { from: 0, to: MINUTE, zero: 0 },
    width: 18,
    margin: marginFor(lanes),
    style: noColour,
  }
  const at = (column: number) => ((column + 0.5) * MINUTE) / 10

  test('shows what passed, what did not, and who died', () => {
    const requests = [
      request(at(0)),
      request(at(2), 'P1', 'denied'),
      request(at(3)),
      request(at(3), 'P1', 'denied'),
      request(at(5), 'P2'),
    ]
    expect(drawTraffic({ lanes, requests, deaths: [{ lane: 'P1', at: at(6) }] }, canvas)).toEqual(
      ['    P1  █ ░▒  x   ', '    P2       █'].map((line) => line.trimEnd()),
    )
  })

  test('marks where the minute that ends there holds too much, over all lanes', () => {
    const requests = [...times(60, request(at(1))), ...times(41, request(at(4), 'P2'))]
    expect(drawTraffic({ lanes, requests }, canvas).at(-1)).toBe('            !!!!!!')
    expect(drawTraffic({ lanes, requests: requests.slice(1) }, canvas)).toHaveLength(2)
  })

  test('edges stand a minute apart, and the axis counts in minutes', () => {
    const wide = { ...canvas, window: { from: 0, to: 2 * MINUTE, zero: 0 }, width: 28 }
    expect(drawEdges(0.55 * MINUTE, wide)).toBe('             ┃         ┃')
    expect(drawMinutes(wide)).toEqual(['        ┴─────────┴─────────', '        0.0 min   1.0 min'])
  })

  test('the legend explains every sign, within the width', () => {
    const lines = trafficLegend(80, noColour)
    for (const sign of ['█', '▒', '░', '!', 'x', '┃']) expect(lines.join(' ')).toContain(` ${sign} `)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  })
})

describe('the verdict', () => {
  const held = (variant: LimitResult, edge = burst) => limitHeld(limitSummary({ variants: [variant], edge }))

  test('holds for a hundred, before and after the pause', () => {
    expect(held(result('holdfast', 100))).toBe(true)
  })

  test('one too many, one too few, a user who is locked out, or a doubled exact window: not held', () => {
    expect(held(result('holdfast', 101))).toBe(false)
    expect(held(result('holdfast', 99))).toBe(false)
    expect(held(result('holdfast', 100, { later: times(10, request(2 * MINUTE, 'P2', 'denied')) }))).toBe(
      false,
    )
    const doubled = {
      ...burst,
      requests: burst.requests.map((each) => ({ ...each, outcome: 'admitted' as const })),
    }
    expect(held(result('holdfast', 100), doubled)).toBe(false)
    expect(held(result('get-then-set', 100))).toBe(false)
  })

  test('sums up every variant and both windows', () => {
    expect(limitSummary({ variants: [result('get-then-set', 399)], edge: burst })).toEqual({
      variants: [
        { name: 'get-then-set', admitted: 399, mostInAnyMinute: 399, admittedLater: 10, unanswered: 0 },
      ],
      doubleBurst: [
        { name: 'fixedWindow', admitted: 200, mostInAnyMinute: 200 },
        { name: 'slidingWindow', admitted: 100, mostInAnyMinute: 100 },
      ],
    })
  })
})
