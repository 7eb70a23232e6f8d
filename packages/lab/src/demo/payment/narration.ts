/** What happened at the till, line by line. Pure. */

import type { Entry } from '../log.ts'
import type { Hold, Story } from '../story.ts'
import { seconds } from '../words.ts'
import type { PaymentResult } from './scene.ts'

export interface NarrationLine {
  /** Milliseconds of the log's clock. */
  readonly at: number
  readonly text: string
  readonly tone: 'plain' | 'bad' | 'good'
}

/** @param zero the moment that is called 0 s */
export function narrate({ log, name }: PaymentResult, story: Story): NarrationLine[] {
  const told = log.flatMap((entry) => lineFor(entry, story, name))
  const ends = story.holds.flatMap(endOfLock)
  return [...told, ...ends].sort((a, b) => a.at - b.at)
}

function lineFor(entry: Entry, story: Story, variant: PaymentResult['name']): NarrationLine[] {
  const { at, lane } = entry
  const line = (text: string, tone: NarrationLine['tone'] = 'plain') => [
    { at, text: `${lane} ${text}`, tone },
  ]
  switch (entry.what) {
    case 'enters': {
      const others = story.holds.filter((hold) => hold.lane !== lane && hold.from < at && hold.to > at)
      const names = others.map((hold) => hold.lane).join(' and ')
      return others.length === 0
        ? line('takes the lock')
        : line(`takes the lock; ${names} ${others.length === 1 ? 'is' : 'are'} still at work`, 'bad')
    }
    case 'blocked':
      return line(`stands still for ${seconds(entry.ms)}: its event loop is blocked`)
    case 'charges': {
      const before = story.marks.filter((mark) => mark.kind === 'charge' && mark.at < at).length
      return before === 0 ? line('charges') : line('charges again', 'bad')
    }
    case 'stops':
      return line(`does not charge: ${entry.because}`, 'good')
    case 'told':
      return line('is told that the lock is lost, and does not charge', 'good')
    case 'refused':
      return line('tries to write, late; the order refuses its fence', 'good')
    case 'deleted':
      return deletion(entry, story, line)
    case 'leaves':
      // The naive variants say it by their DEL. Who lost the lock has nothing to give back.
      return variant === 'bare-del' || lostBefore(story, entry) ? [] : line('gives the lock back')
    case 'waits':
    case 'granted':
    case 'expiry-set':
      return []
  }
}

function deletion(
  { at, lane, found }: Extract<Entry, { what: 'deleted' }>,
  story: Story,
  line: (text: string, tone?: NarrationLine['tone']) => NarrationLine[],
): NarrationLine[] {
  if (!found) return line('sends DEL; there is nothing to delete')
  const isForeign = story.marks.some(
    (mark) => mark.kind === 'foreign-delete' && mark.at === at && mark.lane === lane,
  )
  return isForeign
    ? line('sends DEL, and deletes the lock of another process', 'bad')
    : line('deletes its lock')
}

function lostBefore({ holds }: Story, { lane, at }: Entry): boolean {
  return holds.some((hold) => hold.lane === lane && hold.to === at && hold.lockEnd !== null)
}

function endOfLock({ lane, lockEnd }: Hold): NarrationLine[] {
  if (lockEnd?.why !== 'expired') return []
  return [{ at: lockEnd.at, text: `the lock of ${lane} expires`, tone: 'bad' }]
}
