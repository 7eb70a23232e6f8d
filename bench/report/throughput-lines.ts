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

/** Cycles a second over the number of concurrent loops. */
export function throughputLines(find: FindRow, box: Box): string[] {
  const all = seriesOf(find)
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
    text(box.left + 8, box.top + 20, 'title', 'Acquire + release, cycles a second'),
    text(box.left + 8, box.top + 38, 'faint', 'one client, one connection, distinct names; higher is better'),
    ...legend(all, box.left + 8, box.top + 62),
    ...grid,
    ...CONCURRENCIES.map((count, i) => text(x(i), plot.bottom + 18, 'faint middle', String(count))),
    text((plot.left + plot.right) / 2, plot.bottom + 36, 'faint middle', 'concurrent'),
    ...all.flatMap((series) => curve(series, x, y)),
  ]
}

function seriesOf(find: FindRow): Series[] {
  const values = (prefix: string, field: 'ours' | 'floor' | 'bestPeer') =>
    CONCURRENCIES.map((count) => find(`${prefix}/${count}/throughput`)?.[field] ?? null)
  const all: Series[] = [
    { name: 'best peer', className: 'peer', dashed: false, values: values('cycle', 'bestPeer') },
    {
      name: 'raw, auto-pipelining',
      className: 'floor',
      dashed: true,
      values: values('cycle+auto-pipelining', 'floor'),
    },
    { name: 'raw ioredis', className: 'floor', dashed: false, values: values('cycle', 'floor') },
    { name: 'Holdfast', className: 'ours', dashed: false, values: values('cycle', 'ours') },
  ]
  return all.filter((series) => series.values.some((value) => value !== null))
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
