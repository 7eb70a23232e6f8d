/** The failover as table, timelines and narration. Pure. */

import type { Mark, Story } from '../story.ts'
import type { Style } from '../style.ts'
import { drawTable, wrap } from '../table.ts'
import { drawTimeline, legend } from '../timeline.ts'
import { seconds } from '../words.ts'
import { FAILOVER_LANES, type FailoverResult } from './scene.ts'

/** How long the work of each takes, for the drawing: it looks at nothing meanwhile. */
const WORK_MS = 400

export function reportFailover(results: readonly FailoverResult[], width: number, style: Style): string[] {
  return [
    style.strong('Failover: the server that granted a lock is killed in that very moment'),
    ...wrap(
      'P1 is granted a lock, and its server dies. A replica that lags takes over (of a quorum: the server comes back empty). P2 asks ' +
        'for the same lock. P1 works on, and looks at nothing.',
      width - 2,
    ).map((line) => `  ${line}`),
    '',
    ...drawTable(
      {
        head: ['variant', 'granted twice', 'stale writes taken', 'what happened in this run'],
        rows: results.map((result) => [
          { text: result.name, paint: style.strong },
          { text: result.grantedTwice ? 'yes' : 'no', paint: result.grantedTwice ? style.bad : style.good },
          { text: result.name === 'plain' ? '-' : String(result.staleWrites) },
          { text: whatHappened(result) },
        ]),
      },
      width,
      style,
    ),
    '',
    ...legend(['waits', 'told', 'refused'], width, style),
    ...results.flatMap((result) => ['', ...timelineOf(result, width, style)]),
  ]
}

function timelineOf(result: FailoverResult, width: number, style: Style): string[] {
  const { round } = result
  const zero = round.granted ?? round.killed
  const story = storyOf(result)
  const to = Math.max(round.answered, zero + WORK_MS, ...story.holds.map((hold) => hold.to)) + 30
  return [
    `  ${style.strong(result.name)}`,
    ...drawTimeline(story, FAILOVER_LANES, { from: zero, to, zero }, width, style),
    ...narrate(result).map(({ at, text, tone }) => {
      const paint = { plain: (plain: string) => plain, bad: style.bad, good: style.good }[tone]
      return `    ${style.dim(seconds(Math.max(0, at - zero)).padStart(7))}  ${paint(text)}`
    }),
  ]
}

/** When P1 comes to write, at the end of its work and after P2 has begun. */
function writesAt({ round, name }: FailoverResult): number | null {
  const { granted, grantedAgain } = round
  return name === 'fenced' && granted !== null && grantedAgain !== null
    ? Math.max(granted + WORK_MS, grantedAgain + 1)
    : null
}

/** For tests. */
export function storyOf(result: FailoverResult): Story {
  const { granted, killed, replaced, answered, grantedAgain, told } = result.round
  const end = (granted ?? 0) + WORK_MS
  const lockEnd = grantedAgain === null ? null : ({ at: killed, why: 'deleted' } as const)
  const first = granted === null ? [] : [{ lane: 'P1', who: 1, from: granted, to: end, lockEnd }]
  const second =
    grantedAgain === null
      ? []
      : [{ lane: 'P2', who: 1, from: grantedAgain, to: grantedAgain + WORK_MS, lockEnd: null }]
  const late = writesAt(result)
  const marks: Mark[] = [
    ...(told === null ? [] : [{ at: told, lane: 'P1', who: 1, kind: 'told' as const }]),
    ...(late === null ? [] : [{ at: late - 1, lane: 'P1', who: 1, kind: 'refused' as const }]),
  ]
  const both = grantedAgain !== null && granted !== null && grantedAgain < end
  return {
    holds: [...first, ...second],
    marks,
    waits: [{ lane: 'P2', from: replaced, to: answered }],
    doubleHolds: both ? [{ from: grantedAgain, to: end }] : [],
    intruders: both ? 1 : 0,
  }
}

interface Line {
  readonly at: number
  readonly text: string
  readonly tone: 'plain' | 'bad' | 'good'
}

function narrate(result: FailoverResult): Line[] {
  const { granted, killed, replaced, answered, grantedAgain, told } = result.round
  const lines: Line[] = []
  const say = (at: number, text: string, tone: Line['tone'] = 'plain'): void =>
    void lines.push({ at, text, tone })
  if (granted !== null) say(granted, 'P1 is granted the lock')
  say(killed, 'the server is dead')
  say(replaced, result.name === 'quorum' ? 'it is back, empty' : 'a replica has taken over')
  if (grantedAgain !== null) say(grantedAgain, 'P2 is granted the same lock', 'bad')
  else say(answered, 'P2 is not granted it', 'good')
  if (told !== null && granted !== null && told < granted + WORK_MS)
    say(told, 'P1 is told that the lock is lost', 'good')
  const late = writesAt(result)
  if (late !== null)
    say(
      late,
      result.staleWrites === 0 ? 'P1 writes, late; the table refuses its fence' : 'P1 writes, late',
      'good',
    )
  return lines.sort((a, b) => a.at - b.at)
}

function whatHappened({ name, grantedTwice, round, staleWrites }: FailoverResult): string {
  switch (name) {
    case 'plain':
      if (!grantedTwice) return 'The replica had the grant in time: luck.'
      return 'Two held it: the replica that took over had not got the grant.'
    case 'acknowledged':
      if (grantedTwice) return 'Granted twice. This must not happen: please report it.'
      return round.granted === null
        ? 'Not granted: the replicas did not answer.'
        : 'Both replicas had it before P1 was told.'
    case 'quorum':
      if (grantedTwice) return 'Granted twice. This must not happen: please report it.'
      return 'Two of three servers still know P1, and the third grants nothing for a while.'
    case 'fenced':
      if (staleWrites > 0) return 'A stale write was taken. This must not happen: please report it.'
      return grantedTwice
        ? 'Two held it, and the late write was refused.'
        : 'The replica had the grant in time: luck.'
  }
}
