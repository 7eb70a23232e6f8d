/** The coupons as table and timelines. Pure. */

import type { Window } from '../columns.ts'
import type { Style } from '../style.ts'
import { drawTable, wrap } from '../table.ts'
import { barColumns, drawTimeline, legend } from '../timeline.ts'
import { plural, seconds } from '../words.ts'
import { EXPIRY } from './counter.ts'
import { BUYERS, COUPON_LANES, COUPONS } from './scene.ts'
import type { CouponResult } from './scene.ts'

/** What one column of a timeline stands for, in milliseconds: about one piece of work. */
const COLUMN_MS = 10

export function reportCoupons(results: readonly CouponResult[], width: number, style: Style): string[] {
  return [
    style.strong(`Coupons: ${COUPONS} of them, ${BUYERS} buyers, ${COUPON_LANES.length} processes`),
    ...wrap(
      'Every buyer reads the stock, compares, asks a risk service (a few ms, now and then longer than the ' +
        `${EXPIRY} ms after which a lock expires), and writes the stock back together with an order.`,
      width - 2,
    ).map((line) => `  ${line}`),
    '',
    ...drawTable(
      {
        head: ['variant', 'sold', 'oversold', 'ms', 'what happened in this run'],
        rows: results.map((result) => [
          { text: result.name, paint: style.strong },
          { text: String(result.sold) },
          { text: String(result.oversold), paint: result.oversold > 0 ? style.bad : style.good },
          { text: String(result.ms) },
          { text: whatHappened(result) },
        ]),
      },
      width,
      style,
    ),
    '',
    ...legend(['expiry', 'foreign-delete', 'told', 'refused'], width, style),
    ...results
      .filter(({ name }) => name !== 'atomic-sql')
      .flatMap((result) => ['', ...timelineOf(result, width, style)]),
  ]
}

function timelineOf(result: CouponResult, width: number, style: Style): string[] {
  const { story, name } = result
  const { window, why } = windowOf(result, barColumns(width) * COLUMN_MS)
  return [
    `  ${style.strong(name)} ${style.dim(`· ${why}`)}`,
    ...drawTimeline(story, COUPON_LANES, window, width, style),
  ]
}

/** A part of the run in which something can be seen. */
function windowOf({ story }: CouponResult, length: number): { window: Window; why: string } {
  const zero = story.holds[0]?.from ?? 0
  const end = Math.max(zero, ...story.holds.map(({ to }) => to))
  const startingAt = (wish: number) => {
    const from = Math.max(zero, Math.min(wish, end - length))
    return { from, to: from + length, zero }
  }
  const expiry = story.marks.find(({ kind }) => kind === 'expiry')
  if (expiry !== undefined) {
    const why = 'around the first lock that expired under its holder'
    return { window: startingAt(expiry.at - length / 3), why }
  }
  const longest = story.holds.toSorted((a, b) => b.to - b.from - (a.to - a.from))[0]
  if (story.doubleHolds.length > 0 || longest === undefined) {
    return { window: startingAt(zero), why: 'how it begins' }
  }
  const middle = (longest.from + longest.to) / 2
  return { window: startingAt(middle - length / 2), why: 'around the longest hold' }
}

function whatHappened(result: CouponResult): string {
  const { sold, stockLeft, gaveUp } = result
  const left = result.oversold > 0 ? `The stock still shows ${stockLeft}.` : ''
  const vain = gaveUp > 0 ? `${plural(gaveUp, 'buyer')} waited in vain.` : ''
  const under = sold < COUPONS ? `Only ${sold} were sold.` : ''
  return [sentence(result), left, under, vain].filter((part) => part !== '').join(' ')
}

function sentence(result: CouponResult): string {
  const facts = factsOf(result)
  switch (result.name) {
    case 'none':
      return facts.intruders === 0
        ? 'No lock, and this time nobody met anybody: luck.'
        : `No lock: ${facts.intruders} buyers began while another was between reading and writing back.`
    case 'local-mutex':
      return facts.intruders === 0
        ? 'One at a time in each process, and this time no two processes met: luck.'
        : `One at a time in each process, but ${facts.intruders} began while another process was at work.`
    case 'setnx-del':
    case 'get-then-del':
      return naive(facts)
    case 'holdfast':
      return ours(facts)
    case 'atomic-sql':
      return 'No lock needed: one SQL statement compares and takes.'
  }
}

interface Facts {
  readonly intruders: number
  readonly expired: number
  readonly foreign: number
  readonly told: number
  readonly refused: number
  readonly longest: number
}

function factsOf({ story }: CouponResult): Facts {
  const count = (kind: string) => story.marks.filter((mark) => mark.kind === kind).length
  return {
    intruders: story.intruders,
    expired: count('expiry'),
    foreign: count('foreign-delete'),
    told: count('told'),
    refused: count('refused'),
    longest: Math.max(0, ...story.holds.map(({ from, to }) => to - from)),
  }
}

function naive({ expired, foreign, intruders }: Facts): string {
  if (expired === 0 && intruders === 0)
    return 'No check outlasted the expiry this time, so all went well: luck.'
  const parts = [
    `${plural(expired, 'lock')} expired under ${expired === 1 ? 'its holder' : 'their holders'}`,
    ...(foreign > 0 ? [`${plural(foreign, 'DEL')} hit another's lock`] : []),
    `${plural(intruders, 'buyer')} came in while another was at work`,
  ]
  return `${parts.slice(0, -1).join(', ')}; ${parts.at(-1)}.`
}

function ours({ intruders, told, refused, longest }: Facts): string {
  const renewed =
    longest > EXPIRY
      ? `The longest hold was ${seconds(longest)}: renewed in time.`
      : 'No check outlasted the expiry this time.'
  const alone = intruders === 0 ? 'Nobody ever met another.' : `${plural(intruders, 'buyer')} met another.`
  const lost = [
    ...(told > 0 ? [`${plural(told, 'holder')} lost the lock and was told`] : []),
    ...(refused > 0 ? [`${plural(refused, 'late write')} refused`] : []),
  ]
  const again = lost.length > 0 ? ` ${lost.join(', ')}; tried again.` : ''
  return `${renewed} ${alone}${again}`
}
