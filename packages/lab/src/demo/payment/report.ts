/** The payment as table, timelines and narration. Pure. */

import { tellStory } from '../story.ts'
import type { Story } from '../story.ts'
import type { Style } from '../style.ts'
import { drawTable, wrap } from '../table.ts'
import { drawTimeline, legend } from '../timeline.ts'
import { seconds } from '../words.ts'
import { narrate } from './narration.ts'
import type { NarrationLine } from './narration.ts'
import { PAYMENT_LANES } from './scene.ts'
import type { PaymentResult } from './scene.ts'
import { BLOCKED, EXPIRY } from './till.ts'

export function reportPayment(results: readonly PaymentResult[], width: number, style: Style): string[] {
  return [
    style.strong(
      `Payment: one order, ${PAYMENT_LANES.length} callbacks in ${PAYMENT_LANES.length} processes`,
    ),
    ...wrap(
      `A lock expires after ${EXPIRY} ms. The first callback takes it, and then its event loop is blocked for ` +
        `${BLOCKED} ms before it charges. Nothing can renew a lock in a process that stands still.`,
      width - 2,
    ).map((line) => `  ${line}`),
    '',
    ...drawTable(
      {
        head: ['variant', 'charges', 'stale writes refused', 'what happened in this run'],
        rows: results.map((result) => [
          { text: result.name, paint: style.strong },
          { text: String(result.charges), paint: result.charges === 1 ? style.good : style.bad },
          { text: String(result.staleWritesRefused) },
          { text: whatHappened(result) },
        ]),
      },
      width,
      style,
    ),
    '',
    ...legend(['waits', 'expiry', 'charge', 'foreign-delete', 'told', 'refused'], width, style),
    ...results.flatMap((result) => ['', ...timelineOf(result, width, style)]),
  ]
}

function timelineOf(result: PaymentResult, width: number, style: Style): string[] {
  const story = tellStory(result.log)
  const zero = story.holds[0]?.from ?? 0
  const to = Math.max(...result.log.map(({ at }) => at)) + 50
  return [
    `  ${style.strong(result.name)}`,
    ...drawTimeline(story, PAYMENT_LANES, { from: zero, to, zero }, width, style),
    ...narrate(result, story).map((line) => narrationLine(line, zero, style)),
  ]
}

function narrationLine({ at, text, tone }: NarrationLine, zero: number, style: Style): string {
  const paint = { plain: (plain: string) => plain, bad: style.bad, good: style.good }[tone]
  return `    ${style.dim(seconds(Math.max(0, at - zero)).padStart(7))}  ${paint(text)}`
}

function whatHappened(result: PaymentResult): string {
  const story = tellStory(result.log)
  switch (result.name) {
    case 'bare-del':
      return bareDel(result, story)
    case 'holdfast':
      return lockOnly(result, story)
    case 'holdfast-full':
      return full(result)
  }
}

function bareDel({ charges }: PaymentResult, { marks, intruders }: Story): string {
  const foreign = marks.some(({ kind }) => kind === 'foreign-delete')
  const late = 'nobody told the late one that its lock was over.'
  const outcome = charges > 1 ? `Charged ${charges} times: ${late}` : 'Charged once this time: luck.'
  const deleted = foreign ? ' A late DEL deleted the lock of another, and let the next one in.' : ''
  return intruders === 0 ? outcome : outcome + deleted
}

function lockOnly({ charges }: PaymentResult, { marks }: Story): string {
  const told = marks.some(({ kind }) => kind === 'told')
  if (charges > 1) return `Charged ${charges} times: the pause fell between assertHeld() and the charge.`
  if (charges === 0) return 'Nobody charged: each holder lost the lock before it could.'
  if (!told) return 'Charged once; no lock was lost this time.'
  return (
    'assertHeld() told the late one before it charged. A pause right after that line would still ' +
    'charge twice: a lock narrows this gap and cannot close it.'
  )
}

function full({ charges, staleWritesRefused }: PaymentResult): string {
  if (charges !== 1) return `Charged ${charges} times. This must not happen: please report it.`
  if (staleWritesRefused === 0) return 'Charged once; no write came late this time.'
  return 'Charged once. The late write came with an older fence, and the order refused it.'
}
