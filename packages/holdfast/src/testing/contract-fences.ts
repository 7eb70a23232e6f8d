import assert from 'node:assert/strict'
import type { StoreTraits } from '../store/contract.ts'
import type { CaseOutline } from './contract-scene.ts'

const fenced = (traits: StoreTraits): boolean => traits.fences !== 'none'

function assertRising(fences: readonly bigint[]): void {
  fences.forEach((fence, i) => {
    const before = fences[i - 1]
    assert.ok(before === undefined || fence > before, `fence ${fence} of grant ${i} is not above ${before}`)
  })
}

export const fenceCases: readonly CaseOutline[] = [
  {
    name: 'fence: rises with every grant of a name, whichever process is granted and however fast',
    needs: fenced,
    run: async (scene) => {
      const parties = [await scene.open(), await scene.open()]
      const fences: bigint[] = []
      for (let i = 0; i < 60; i += 1) {
        // Uneven turns, so that each process follows itself and the other.
        const party = parties[Math.floor(i / 3) % 2]
        assert.ok(party)
        const owner = party.owner()
        fences.push(await party.grant(owner))
        await party.release(owner)
      }
      assertRising(fences)
    },
  },
  {
    name: 'fence: rises over an expiry',
    needs: fenced,
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const first = await one.grant(one.owner(), { ttl: scene.units(2) })
      await scene.pass(3)
      assertRising([first, await two.grant(two.owner())])
    },
  },
  {
    name: 'fence: a forced release takes one of its own, above the holder and below the next',
    needs: fenced,
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      const held = await one.grant(owner)
      const forced = await two.force(owner)
      assert.ok(forced.kind === 'forced')
      assertRising([held, forced.fence, await one.grant(one.owner())])
    },
  },
  {
    name: 'fence: is exact, and shown by inspect',
    needs: fenced,
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      for (let i = 0; i < 5; i += 1) {
        const address = scene.address(`name ${i}`)
        const fence = await one.grant(one.owner(), { address })
        assert.ok(fence > 0n && fence < 2n ** 63n)
        assert.equal((await two.record(address)).fence, fence)
      }
    },
  },
  {
    name: "fence: follows the store's clock in microseconds",
    needs: (traits) => traits.fences === 'clocked',
    run: async (scene) => {
      const one = await scene.open()
      await scene.pass(1)
      const { result, serverTime } = await one.acquireAnswer(one.owner())
      assert.ok(result.kind === 'granted')
      const leadMs = Number(result.fence) / 1_000 - serverTime
      assert.ok(leadMs >= 0 && leadMs <= 1_000, `the fence leads the clock by ${leadMs} ms`)
    },
  },
  {
    name: 'fence: rises even when the last one was lost',
    needs: (traits, doors) => traits.fences === 'clocked' && doors.remove,
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      const fences = [await one.grant(owner)]
      await one.release(owner)
      await scene.doors.remove(scene.lock.fenceKey)
      await scene.pass(1)
      const next = one.owner()
      fences.push(await one.grant(next))
      await scene.doors.remove(scene.lock.key)
      fences.push(await one.grant(one.owner()))
      assertRising(fences)
    },
  },
]
