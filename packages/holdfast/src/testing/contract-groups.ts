import assert from 'node:assert/strict'
import type { AcquireResult, AskGroup } from '../store/contract.ts'
import { type CaseOutline, type Party, type Scene } from './contract-scene.ts'

const MANY = 64

/** Asks for several locks as one group, in one turn. */
function together(scene: Scene, party: Party, names: readonly string[], owners: readonly string[]) {
  const group: AskGroup = { size: names.length }
  return Promise.all(
    names.map((name, i) => party.acquire(owners[i] ?? '', { address: scene.address(name), group })),
  )
}

const kinds = (results: readonly AcquireResult[]): string[] => results.map(({ kind }) => kind)

/** A store need not grant together; one that says that it does must. */
export const groupCases: readonly CaseOutline[] = [
  {
    name: 'group: all of it are granted when all are free, each with a fence of its own that a repeat keeps',
    run: async (scene) => {
      const one = await scene.open()
      if (one.locks.grantsTogether !== true) return
      const names = Array.from({ length: MANY }, (_, i) => `member ${i}`)
      const owners = names.map(() => one.owner())
      const first = await together(scene, one, names, owners)
      assert.deepEqual(new Set(kinds(first)), new Set(['granted']))
      const fences = first.map((result) => (result as { fence: bigint }).fence)
      assert.equal(new Set(fences).size, MANY, 'no two have one fence')
      const again = await together(scene, one, names, owners)
      assert.deepEqual(
        again.map((result) => (result as { fence: bigint }).fence),
        fences,
      )
    },
  },
  {
    name: 'group: where one is held by another none is granted, and nothing is written',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      if (one.locks.grantsTogether !== true) return
      const holder = two.owner()
      await two.grant(holder, { address: scene.address('b') })
      const owners = ['a', 'b', 'c'].map(() => one.owner())
      const results = await together(scene, one, ['a', 'b', 'c'], owners)
      assert.deepEqual(kinds(results), ['busy', 'busy', 'busy'])
      const holders = results.map((result) => (result.kind === 'busy' ? (result.holder?.owner ?? null) : ''))
      assert.deepEqual(holders, [null, holder, null], 'only who is in the way is named')
      assert.equal(await one.inspect(scene.address('a')), null)
      assert.equal(await one.inspect(scene.address('c')), null)
    },
  },
  {
    name: 'group: two groups in one turn do not share their fate',
    run: async (scene) => {
      const one = await scene.open()
      if (one.locks.grantsTogether !== true) return
      const owners = Array.from({ length: 6 }, () => one.owner())
      const [first, second, third] = await Promise.all([
        together(scene, one, ['a', 'b'], owners.slice(0, 2)),
        together(scene, one, ['b', 'c'], owners.slice(2, 4)),
        together(scene, one, ['d', 'e'], owners.slice(4)),
      ])
      assert.deepEqual([first, second, third].map(kinds), [
        ['granted', 'granted'],
        ['busy', 'busy'],
        ['granted', 'granted'],
      ])
      assert.equal(await one.inspect(scene.address('c')), null)
    },
  },
]
