import { describe, expect, test } from 'vitest'
import type { AcquireResult, Answer, RaiseResult, ReleaseResult, RenewResult } from '../../store/contract.ts'
import { StoreFailure } from '../../store/failure.ts'
import type { Vote, Votes } from './ballot.ts'
import {
  impossible,
  judgeAcquire,
  judgeRaise,
  judgeRelease,
  judgeRenew,
  majorityOf,
  mayBeDone,
} from './majority.ts'
import { judgeForce, judgeInspect } from './reading.ts'

/**
 * Goal: a verdict comes as soon as it is certain, and never sooner.
 * Method: the judges alone, over votes written as words: one for each node, `?` for one that is awaited.
 */

const failure = new StoreFailure('trouble', {
  kind: 'unreachable',
  outcome: 'unknown',
  final: false,
  reason: 'connection',
})
const held = (owner: string, remaining = 100) => ({ owner, fence: 1n, remaining })

function votes<R>(words: string, read: (word: string) => R): Votes<R> {
  return words.split(' ').map((word): Vote<R> | null => {
    if (word === '?') return null
    if (word === '-') return { kind: 'unasked' }
    if (word === 'silent') return { kind: 'silent' }
    if (word === 'down') return { kind: 'failed', failure }
    return { kind: 'answered', answer: { result: read(word), serverTime: 1, maybeTwice: false } }
  })
}

const acquires = (words: string) =>
  votes<AcquireResult>(words, (word) => {
    if (word === 'yes') return { kind: 'granted', fence: 1n, again: false }
    if (word === 'late') return { kind: 'late' }
    return { kind: 'busy', holder: word === 'turn' ? null : held(word) }
  })

test.each([
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 3],
  [5, 3],
])('of %d nodes, %d are the majority', (nodes, majority) => expect(majorityOf(nodes)).toBe(majority))

describe('acquiring', () => {
  test.each<[string, string | null]>([
    ['? ? ?', null],
    ['yes ? ?', null],
    ['yes yes ?', 'granted'],
    ['yes ? ? ? ?', null],
    ['yes yes ? ? ?', null],
    ['yes yes down ? ?', null],
    ['yes yes yes ? ?', 'granted'],
    ['X yes ?', null],
    ['X X ?', 'busy'],
    ['X yes silent', 'busy'],
    // B1: an exact tie is decided at once.
    ['yes X', 'busy'],
    ['yes yes X X', 'busy'],
    // B6: too few answer, whatever the others say.
    ['down down ?', 'impossible'],
    ['yes down down', 'impossible'],
    ['X down down', 'impossible'],
    ['X down silent', 'impossible'],
    ['down down down ? ?', 'impossible'],
    // The one that is awaited tells whether others have it or too many are down.
    ['X down ?', null],
    ['late late ?', null],
    ['late late late', 'late'],
    ['late late down', 'impossible'],
    ['late late yes', 'impossible'],
  ])('%s: %s', (words, kind) => {
    const given = acquires(words)
    expect(judgeAcquire(given, majorityOf(given.length))?.kind ?? null).toBe(kind)
  })

  test('busy says who holds a majority, and when that ends', () => {
    const given = votes<AcquireResult>('90 70 80', (word) => ({
      kind: 'busy',
      holder: held('X', Number(word)),
    }))
    expect(judgeAcquire(given, 2)).toEqual({ kind: 'busy', holder: held('X', 80), split: false })
  })

  test('a split vote is known as one, and names nobody', () => {
    expect(judgeAcquire(acquires('X Y Z'), 2)).toEqual({ kind: 'busy', holder: null, split: true })
    expect(judgeAcquire(acquires('X yes silent'), 2)).toEqual({ kind: 'busy', holder: null, split: true })
    expect(judgeAcquire(acquires('turn turn ?'), 2)).toEqual({ kind: 'busy', holder: null, split: false })
  })
})

describe('raising the fence', () => {
  const raises = (words: string) =>
    votes<RaiseResult>(words, (word) => {
      if (word === 'yes') return { kind: 'raised' }
      if (/^\d+$/.test(word)) return { kind: 'higher', fence: BigInt(word) }
      return { kind: 'missing' }
    })

  test.each<[string, unknown]>([
    ['yes yes ?', { kind: 'confirmed' }],
    ['yes ? ?', null],
    ['yes 7 no', { kind: 'again', fence: 7n }],
    ['9 7 ?', { kind: 'again', fence: 9n }],
    ['yes 7 ?', null],
    ['yes no no', { kind: 'lost' }],
    ['no no ?', { kind: 'lost' }],
    ['yes down silent', { kind: 'impossible' }],
    ['yes no down', { kind: 'impossible' }],
  ])('%s', (words, verdict) => expect(judgeRaise(raises(words), 2)).toEqual(verdict))
})

describe('renewing', () => {
  const renewals = (words: string) =>
    votes<RenewResult>(words, (word) => {
      if (word === 'yes' || word === 'YES') return { kind: 'renewed' }
      if (word === 'late') return { kind: 'late' }
      return word === 'no' ? { kind: 'missing' } : { kind: 'other', holder: held(word) }
    })

  test.each<[string, string | null]>([
    ['yes yes ?', 'renewed'],
    ['yes ? ?', null],
    ['yes no ?', null],
    ['yes no no', 'missing'],
    ['yes X no', 'other'],
    ['no no ?', 'missing'],
    // Two that are not heard of may still have it.
    ['yes down silent', 'impossible'],
    ['yes no silent', 'impossible'],
    ['yes no late', 'late'],
    ['late late late', 'late'],
    ['yes no -', 'missing'],
  ])('%s: %s', (words, kind) => {
    const given = renewals(words)
    const counts = (node: number): boolean => given[node]?.kind !== 'unasked'
    expect(judgeRenew(given, counts, 2)?.kind ?? null).toBe(kind)
  })

  test('who joined does not count yet', () => {
    const given = renewals('yes yes no')
    expect(judgeRenew(given, (node) => node !== 1, 2)?.kind).toBe('missing')
  })
})

describe('releasing', () => {
  const releases = (words: string) =>
    votes<ReleaseResult>(words, (word) => {
      if (word === 'yes' || word === 'woke') return { kind: 'released', wokeOther: word === 'woke' }
      return word === 'no' ? { kind: 'missing' } : { kind: 'other', holder: held(word) }
    })

  test.each<[string, string | null]>([
    ['yes yes ?', 'released'],
    ['yes ? ?', null],
    ['yes no ?', null],
    ['yes no no', 'missing'],
    ['yes X X', 'other'],
    ['no no ?', 'missing'],
    ['no no no', 'missing'],
    ['- - -', 'missing'],
    ['yes yes -', 'released'],
    ['yes down silent', 'impossible'],
    // Free on a majority, and it may have been ours.
    ['yes no silent', 'released'],
    ['no no silent', 'missing'],
    ['yes silent ?', null],
  ])('%s: %s', (words, kind) => {
    const given = releases(words)
    expect(judgeRelease(given, majorityOf(given.length))?.kind ?? null).toBe(kind)
  })

  test('somebody is next when any node woke somebody', () => {
    expect(judgeRelease(releases('yes woke ?'), 2)).toEqual({ kind: 'released', wokeOther: true })
  })
})

describe('reading', () => {
  const records = (words: string) =>
    votes(words, (word) => (word === 'no' ? null : { ...held(word), waiters: word.length }))

  test.each<[string, string | null | undefined]>([
    ['X X ?', 'X'],
    ['X ? ?', undefined],
    ['no no ?', null],
    ['X Y no', null],
    ['X no down', undefined],
    ['no no down', null],
  ])('%s', (words, owner) => {
    const verdict = judgeInspect(records(words), 2)
    if (owner === undefined) return expect(verdict?.kind ?? 'awaited').not.toBe('read')
    expect(verdict?.kind === 'read' && (verdict.record?.owner ?? null)).toBe(owner)
  })

  test('the most that wait on any node wait', () => {
    const verdict = judgeInspect(
      votes('2 5 ?', (word) => ({ ...held('X'), waiters: Number(word) })),
      2,
    )
    expect(verdict?.kind === 'read' && verdict.record?.waiters).toBe(5)
  })

  test('a forced release waits for all, and has the highest fence', () => {
    const forced = (words: string) =>
      votes(words, (word) =>
        word === 'no' ? ({ kind: 'missing' } as const) : ({ kind: 'forced', fence: BigInt(word) } as const),
      )
    expect(judgeForce(forced('3 5 ?'), 2)).toBeNull()
    expect(judgeForce(forced('3 5 4'), 2)).toEqual({ kind: 'forced', fence: 5n })
    expect(judgeForce(forced('no 5 down'), 2)).toEqual({ kind: 'forced', fence: 5n })
    expect(judgeForce(forced('no no no'), 2)).toEqual({ kind: 'missing' })
    expect(judgeForce(forced('3 down silent'), 2)).toEqual({ kind: 'impossible' })
  })
})

describe('failing', () => {
  test('says which nodes failed, and how', () => {
    const { message, nodes } = impossible(acquires('yes down silent'), 2, {
      exhausted: true,
      outcome: 'not-done',
    })
    expect(nodes).toEqual([
      { node: 1, reason: 'connection' },
      { node: 2, reason: 'silent' },
    ])
    expect(message).toContain('2 of 3 nodes must answer, and 2 did not (node 1 connection, node 2 silent)')
  })

  test('a majority may have done it when so many did, or are not heard of', () => {
    const granted = ({ result }: Answer<AcquireResult>): boolean => result.kind === 'granted'
    expect(mayBeDone(acquires('yes down X'), granted, 2)).toBe(true)
    expect(mayBeDone(acquires('yes X X'), granted, 2)).toBe(false)
    expect(mayBeDone(acquires('silent - -'), granted, 2)).toBe(false)
  })
})
