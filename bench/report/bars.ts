import { short, type Box, type FindRow } from './curves.ts'
import type { Row } from './rows.ts'
import { element, line, round, text } from './svg.ts'

/** Bars of some rows, as shares of what their floor reaches. */
export interface BarPanel {
  readonly title: string
  /** What the shares are of. */
  readonly under: string
  readonly groups: readonly { readonly id: string; readonly name: string }[]
  readonly floorName: string
}

export const handOverPanel: BarPanel = {
  title: 'Hand-overs of one contended lock a second',
  under: 'as a share of a blocking pop, which is no lock; higher is better',
  groups: [
    {
      id: 'contended/4p-1w-0ms/process-hand-overs',
      name: '4 processes × 1 waiter, no work, to another process',
    },
    {
      id: 'contended/4p-1w-1ms/process-hand-overs',
      name: '4 processes × 1 waiter, 1 ms of work, to another process',
    },
    {
      id: 'contended/4p-16w-1ms/waiter-hand-overs',
      name: '4 processes × 16 waiters, 1 ms of work, to another waiter',
    },
  ],
  floorName: 'blocking pop',
}

export const decisionPanel: BarPanel = {
  title: 'Decisions of a limit a second',
  under: '64 concurrent, as a share of a script call for each; higher is better',
  groups: [
    { id: 'limit/64/10000-subjects/throughput', name: '10 000 subjects, token bucket' },
    { id: 'limit/64/denied/throughput', name: 'a subject that is denied, answered from memory' },
    { id: 'limit/64/lease-100/throughput', name: 'one subject, 100 tokens leased at once' },
  ],
  floorName: 'script call',
}

const BAR = 15
const GAP = 5
const LABEL = 86
const FIGURE = 100
/** Of one group, in pixels. */
const HEIGHT = 92

/** Draws a panel. Bars of one group stand together, with their figures. */
export function bars(panel: BarPanel, find: FindRow, box: Box): string[] {
  const rows = panel.groups.flatMap(({ id, name }) => {
    const row = find(id)
    return row === undefined || row.floor === null ? [] : [{ name, row, floor: row.floor }]
  })
  if (rows.length === 0) return []
  const most = Math.max(
    1,
    ...rows.map(({ row, floor }) => Math.max(row.ours ?? 0, row.bestPeer ?? 0) / floor),
  )
  const plot = { left: box.left + LABEL, width: box.width - LABEL - FIGURE }
  const x = (share: number) => plot.left + (plot.width * share) / most
  const top = box.top + 62
  const drawn = rows.flatMap(({ name, row, floor }, i) =>
    group(name, barsOf(row, floor, panel.floorName), x, box.left, top + i * HEIGHT),
  )
  return [
    text(box.left, box.top + 20, 'title', panel.title),
    text(box.left, box.top + 38, 'faint', panel.under),
    ...drawn,
  ]
}
interface Bar {
  readonly name: string
  readonly className: 'ours' | 'floor' | 'peer'
  readonly share: number
  readonly figure: string
}

function barsOf(row: Row, floor: number, floorName: string): Bar[] {
  const bar = (name: string, className: Bar['className'], value: number | null): Bar[] =>
    value === null ? [] : [{ name, className, share: value / floor, figure: short(value) }]
  const peer = bar('best peer', 'peer', row.bestPeer).map((each) => ({
    ...each,
    figure: `${each.figure}  ${peerName(row)}`,
  }))
  return [...bar('Holdfast', 'ours', row.ours), ...bar(floorName, 'floor', floor), ...peer]
}

function peerName({ bestPeerName }: Row): string {
  return bestPeerName ?? ''
}

function group(
  name: string,
  bars: readonly Bar[],
  x: (share: number) => number,
  left: number,
  top: number,
): string[] {
  const first = top + 22
  const bottom = first + bars.length * (BAR + GAP) - GAP
  return [
    text(left, top + 10, 'faint', name),
    line(x(0), first - 3, x(0), bottom + 3, 'grid'),
    ...bars.flatMap(({ name: who, className, share, figure }, i) => {
      const y = first + i * (BAR + GAP)
      const width = Math.max(1, x(share) - x(0))
      return [
        text(x(0) - 8, y + 12, className === 'ours' ? 'ours bold end' : 'end', who),
        element('rect', {
          x: round(x(0)),
          y: round(y),
          width: round(width),
          height: BAR,
          rx: 2,
          class: className,
        }),
        text(x(share) + 8, y + 12, className === 'ours' ? 'ours bold' : 'faint', figure),
      ]
    }),
  ]
}
