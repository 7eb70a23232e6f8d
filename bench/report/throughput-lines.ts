import { short, type Box, type FindRow } from './curves.ts'
import { element, line, polyline, round, text } from './svg.ts'

const CONCURRENCIES = [1, 8, 64, 512]

interface Series {
  readonly name: string
  readonly className: 'ours' | 'floor' | 'peer'
  readonly dashed: boolean
  /** By concurrency; `null` where it was not measured. */
  readonly values: readonly (number | null)[]
}

/** What is drawn over the number of concurrent loops. */
export interface LinePanel {
  readonly title: string
  readonly under: string
  /** From bottom to top. */
  readonly series: readonly {
    readonly name: string
    readonly className: Series['className']
    readonly dashed?: boolean
    readonly field: 'ours' | 'floor' | 'bestPeer'
    readonly rowAt: (concurrency: number) => string
  }[]
}

const cycleAt = (concurrency: number) => `cycle/${concurrency}/throughput`
const takesAt = (concurrency: number) => `limit/${concurrency}/10000-subjects/throughput`

export const cyclePanel: LinePanel = {
  title: 'Acquire + release, cycles a second',
  under: 'one client, one connection, distinct names; higher is better',
  series: [
    { name: 'best peer', className: 'peer', field: 'bestPeer', rowAt: cycleAt },
    {
      name: 'raw, auto-pipelining',
      className: 'floor',
      dashed: true,
      field: 'floor',
      rowAt: (concurrency) => `cycle+auto-pipelining/${concurrency}/throughput`,
    },
    { name: 'raw ioredis', className: 'floor', field: 'floor', rowAt: cycleAt },
    { name: 'Holdfast', className: 'ours', field: 'ours', rowAt: cycleAt },
  ],
}

export const takesPanel: LinePanel = {
  title: 'A token bucket, decisions a second',
  under: 'one client, one connection, 10 000 subjects; higher is better',
  series: [
    { name: 'best peer, fixed window', className: 'peer', field: 'bestPeer', rowAt: takesAt },
    { name: 'one script call', className: 'floor', field: 'floor', rowAt: takesAt },
    { name: 'Holdfast', className: 'ours', field: 'ours', rowAt: takesAt },
  ],
}

/** Figures a second over the number of concurrent loops; nothing without any. */
export function throughputLines(panel: LinePanel, find: FindRow, box: Box): string[] {
  const all = seriesOf(panel, find)
  if (all.length === 0) return []
  const top = Math.max(1, ...all.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const { step, ceiling } = scaleOf(top)
  const plot = {
    left: box.left + 48,
    right: box.left + box.width - 8,
    top: box.top + 92,
    bottom: box.top + box.height - 44,
  }
  const x = (i: number) => plot.left + 24 + ((plot.right - plot.left - 48) * i) / (CONCURRENCIES.length - 1)
  const y = (value: number) => plot.bottom - ((plot.bottom - plot.top) * value) / ceiling
  const grid = Array.from({ length: Math.round(ceiling / step) + 1 }, (_, i) => i * step).flatMap((value) => [
    line(plot.left, y(value), plot.right, y(value), 'grid'),
    text(plot.left - 8, y(value) + 4, 'faint end', value === 0 ? '0' : short(value).replace('.0 ', ' ')),
  ])
  return [
    text(box.left + 8, box.top + 20, 'title', panel.title),
    text(box.left + 8, box.top + 38, 'faint', panel.under),
    ...legend(all, box.left + 8, box.top + 62),
    ...grid,
    ...CONCURRENCIES.map((count, i) => text(x(i), plot.bottom + 18, 'faint middle', String(count))),
    text((plot.left + plot.right) / 2, plot.bottom + 36, 'faint middle', 'concurrent'),
    ...all.flatMap((series) => curve(series, x, y)),
  ]
}

function seriesOf({ series }: LinePanel, find: FindRow): Series[] {
  return series
    .map(({ name, className, dashed = false, field, rowAt }) => ({
      name,
      className,
      dashed,
      values: CONCURRENCIES.map((concurrency) => find(rowAt(concurrency))?.[field] ?? null),
    }))
    .filter(({ values }) => values.some((value) => value !== null))
}

function curve(series: Series, x: (i: number) => number, y: (value: number) => number): string[] {
  const { className, dashed, values } = series
  const points = values.flatMap((value, i) =>
    value === null ? [] : [{ at: [x(i), y(value)] as const, value }],
  )
  const dots = points.map(({ at: [cx, cy] }) =>
    element('circle', { cx: round(cx), cy: round(cy), r: 3.5, class: className }),
  )
  const labels =
    className === 'ours'
      ? points.map(({ at: [cx, cy], value }) => text(cx, cy - 10, 'ours bold middle', short(value)))
      : []
  return [
    polyline(
      points.map(({ at }) => at),
      dashed ? `${className} dashed` : className,
    ),
    ...(dashed ? [] : dots),
    ...labels,
  ]
}

const LETTER = 6.4

function legend(all: readonly Series[], left: number, top: number): string[] {
  let x = left
  return [...all].reverse().flatMap(({ name, className, dashed }) => {
    const at = x
    x += 26 + name.length * LETTER + 14
    const sample = [
      [at, top - 4],
      [at + 18, top - 4],
    ] as const
    return [polyline(sample, dashed ? `${className} dashed` : className), text(at + 24, top, '', name)]
  })
}

/** Steps of 1, 2 or 5 times a power of ten, about five of them. */
function scaleOf(top: number): { step: number; ceiling: number } {
  const rough = top / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power
  return { step, ceiling: Math.ceil(top / step) * step }
}
