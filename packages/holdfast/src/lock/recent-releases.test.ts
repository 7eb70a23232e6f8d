import { expect, test } from 'vitest'
import { bounds } from '../defaults.ts'
import { lockAddress, type LockAddress } from '../name.ts'
import type { LockEngine } from './engine.ts'
import { RecentReleases } from './recent-releases.ts'

/**
 * Goal: what was released is sent again as it was, whatever its name. Method: of the engine there is only what is used here, which notes
 * what it is asked to release.
 */

const OWNER = 'AAAAAAAAAAAAAAAAAAAAAA@host:1'

function recording() {
  let now = 0
  const asked: { address: LockAddress; owner: string }[] = []
  const engine = {
    clock: { monotonic: () => now },
    closed: false,
    inBackground: () => undefined,
    release: (address: LockAddress, owner: string) => {
      asked.push({ address, owner })
      return Promise.resolve({ kind: 'done' })
    },
  } as unknown as LockEngine
  const recent = new RecentReleases(engine)
  const repeated = () => {
    recent.repeat()
    return asked.splice(0)
  }
  return { recent, repeated, passes: (ms: number) => (now += ms) }
}

test('the address and the owner are the same, of short and long names, odd ones, and exact keys', () => {
  const { recent, repeated } = recording()
  const releases = [
    lockAddress('holdfast:v1', 'order:1'),
    lockAddress('holdfast:v1', 'ö 1 {2} 😀'.repeat(9)),
    lockAddress('other', 'x'.repeat(2_000)),
    lockAddress('holdfast:v1', 'two\nlines'),
    lockAddress('holdfast:v1', 'named', 'locks:order 1'),
    lockAddress('holdfast:v1', '12 34', '56 78'),
  ].map((address) => ({ address, owner: OWNER }))
  for (const release of releases) recent.add(release)
  expect(repeated()).toEqual(releases)
})

test('the last thousand, none of them too old; a long one does not stay in the place of a short one', () => {
  const { recent, repeated, passes } = recording()
  const release = (name: string) => ({ address: lockAddress('p', name), owner: OWNER })
  recent.add(release('long'.repeat(100)))
  passes(bounds.releaseIsRecent)
  for (let i = 1; i <= bounds.recentReleases; i += 1) recent.add(release(`n${i}`))
  const first = repeated().map(({ address }) => address.name)
  expect(first).toEqual(
    Array.from({ length: bounds.recentReleases }, (_, i) =>
      i === 0 ? `n${bounds.recentReleases}` : `n${i}`,
    ),
  )
  passes(1)
  recent.add(release('last'))
  const names = repeated().map(({ address }) => address.name)
  expect(names).toContain('last')
  expect(names).not.toContain('n1')
  passes(bounds.releaseIsRecent)
  expect(repeated()).toEqual([{ address: lockAddress('p', 'last'), owner: OWNER }])
})
