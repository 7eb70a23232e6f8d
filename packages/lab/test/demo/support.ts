import type { Entry, Happening } from '../../src/demo/log.ts'

/** One thing that happened, as `at(120, 'P1', { what: 'enters' })`. */
export function at(ms: number, lane: string, happening: Happening, who = 1): Entry {
  return { ...happening, at: ms, lane, who }
}

/** From when to when somebody was at work under a naive lock of this length. */
export function hold(lane: string, from: number, to: number, ttl: number | null = null): Entry[] {
  const granted: Entry[] = ttl === null ? [] : [at(from, lane, { what: 'granted', ttl })]
  return [...granted, at(from, lane, { what: 'enters' }), at(to, lane, { what: 'leaves' })]
}

export function inOrder(...entries: Entry[]): Entry[] {
  return entries.sort((a, b) => a.at - b.at)
}
