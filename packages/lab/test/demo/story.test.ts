import { describe, expect, test } from 'vitest'
import { tellStory } from '../../src/demo/story.ts'
import { at, hold, inOrder } from './support.ts'

/** Goal: the accidents that the timelines show are those that happened, and no others. */

describe('tellStory', () => {
  test('one after another: no accident', () => {
    const story = tellStory(inOrder(...hold('P1', 0, 100, 200), ...hold('P2', 100, 150, 200)))
    expect(story.holds.map(({ lane, from, to, lockEnd }) => [lane, from, to, lockEnd])).toEqual([
      ['P1', 0, 100, null],
      ['P2', 100, 150, null],
    ])
    expect(story).toMatchObject({ marks: [], doubleHolds: [], intruders: 0 })
  })

  test('a lock that expires under its holder, and who comes in', () => {
    const story = tellStory(inOrder(...hold('P1', 0, 300, 200), ...hold('P2', 210, 260, 200)))
    expect(story.holds[0]?.lockEnd).toEqual({ at: 200, why: 'expired' })
    expect(story.marks).toEqual([{ at: 200, lane: 'P1', who: 1, kind: 'expiry' }])
    expect(story.doubleHolds).toEqual([{ from: 210, to: 260 }])
    expect(story.intruders).toBe(1)
  })

  test('an expiry that was set by a second command counts from there', () => {
    const story = tellStory([
      at(0, 'P1', { what: 'granted', ttl: null }),
      at(50, 'P1', { what: 'expiry-set', ttl: 100 }),
      at(51, 'P1', { what: 'enters' }),
      at(149, 'P1', { what: 'leaves' }),
    ])
    expect(story.holds[0]?.lockEnd).toBeNull()
  })

  test("a DEL after another's grant deleted that one's lock", () => {
    const story = tellStory(
      inOrder(
        ...hold('P1', 0, 250, 200),
        at(252, 'P1', { what: 'deleted', sent: 251, found: true }),
        ...hold('P2', 210, 300, 200),
      ),
    )
    expect(story.marks.filter(({ kind }) => kind === 'foreign-delete')).toEqual([
      { at: 252, lane: 'P1', who: 1, kind: 'foreign-delete' },
    ])
    expect(story.holds[1]?.lockEnd).toEqual({ at: 252, why: 'deleted' })
  })

  test("a DEL of one's own lock, or of nothing, is none of a foreign one", () => {
    const own = [...hold('P1', 0, 100, 200), at(102, 'P1', { what: 'deleted', sent: 101, found: true })]
    expect(tellStory(own).marks).toEqual([])
    const nothing = inOrder(
      ...hold('P1', 0, 250, 200),
      ...hold('P2', 210, 220, 200),
      at(252, 'P1', { what: 'deleted', sent: 251, found: false }),
    )
    expect(tellStory(nothing).marks.map(({ kind }) => kind)).toEqual(['expiry'])
  })

  test('a renewed lock ends when its holder stood still for what was left of it', () => {
    const story = tellStory([
      at(0, 'P1', { what: 'waits' }),
      at(5, 'P1', { what: 'enters' }),
      at(10, 'P1', { what: 'blocked', ms: 400, leaseLeft: 190 }),
      at(410, 'P1', { what: 'leaves' }),
      at(411, 'P1', { what: 'told' }),
    ])
    expect(story.holds[0]?.lockEnd).toEqual({ at: 200, why: 'expired' })
    expect(story.waits).toEqual([{ lane: 'P1', from: 0, to: 5 }])
    expect(story.marks.map(({ kind, at }) => [kind, at])).toEqual([
      ['expiry', 200],
      ['told', 411],
    ])
  })

  test('three at once are one double hold, and two intruders', () => {
    const story = tellStory(inOrder(...hold('P1', 0, 50), ...hold('P2', 10, 60), ...hold('P3', 20, 30)))
    expect(story.doubleHolds).toEqual([{ from: 10, to: 50 }])
    expect(story.intruders).toBe(2)
  })

  test('who comes when another goes does not meet it', () => {
    expect(tellStory(inOrder(...hold('P1', 0, 50), ...hold('P2', 50, 60))).intruders).toBe(0)
  })
})
