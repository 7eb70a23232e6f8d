import { describe, expect, test } from 'vitest'
import type { LossReason } from '../errors.ts'
import type { Lease } from './lease.ts'
import { Share } from './share.ts'

/** A lease of which only the state is needed. */
function leaseOf(state: { lost: LossReason | null; released: boolean }): Lease {
  return state as unknown as Lease
}

const held = (): Lease => leaseOf({ lost: null, released: false })

describe('shares of a lease', () => {
  test('L7: only the end of the last one is the end of the lease', () => {
    const root = Share.root(held(), {})
    const child = root.nest()
    const grandchild = child.nest()
    expect([grandchild.end(), child.end(), root.end()]).toEqual([false, false, true])
  })

  test('L7: whichever ends last, also when the outer one ends first', () => {
    const root = Share.root(held(), {})
    const child = root.nest()
    expect([root.end(), child.end()]).toEqual([false, true])
  })

  test('ending twice changes nothing', () => {
    const root = Share.root(held(), {})
    const child = root.nest()
    expect([child.end(), child.end(), child.end(), root.end(), root.end()]).toEqual([
      false,
      false,
      false,
      true,
      false,
    ])
  })

  test('C9: there is one living child, and the next in line has its turn when that ends', () => {
    const root = Share.root(held(), {})
    const first = root.nest()
    expect(root.free).toBe(false)
    expect(() => root.nest()).toThrow('one living child')
    const turns: string[] = []
    let second: Share | null = null
    root.waitForTurn(() => {
      turns.push('second')
      second = root.nest()
    })
    const leave = root.waitForTurn(() => turns.push('third'))
    root.waitForTurn(() => turns.push('fourth'))
    first.end()
    expect(turns).toEqual(['second'])
    expect(root.free).toBe(false)
    leave()
    leave()
    ;(second as Share | null)?.end()
    expect(turns).toEqual(['second', 'fourth'])
  })

  test('is alive until it ends or its lease is over', () => {
    const state: { lost: LossReason | null; released: boolean } = { lost: null, released: false }
    const root = Share.root(leaseOf(state), {})
    const child = root.nest()
    expect([root.alive, child.alive]).toEqual([true, true])
    child.end()
    expect([root.alive, child.alive, child.ended]).toEqual([true, false, true])
    state.lost = 'taken'
    expect(root.alive).toBe(false)
    state.lost = null
    state.released = true
    expect(root.alive).toBe(false)
  })
})
