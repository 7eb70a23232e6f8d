import assert from 'node:assert/strict'
import { JOIN, type CaseOutline } from './contract-scene.ts'

const acquiring: readonly CaseOutline[] = [
  {
    name: 'acquire: a free lock is granted for the ttl, to be seen by every process',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      assert.equal(await two.inspect(), null)
      const result = await one.acquire(owner, { ttl: scene.units(400) })
      assert.equal(result.kind, 'granted')
      assert.equal(result.kind === 'granted' && result.again, false)
      const record = await two.record()
      assert.equal(record.owner, owner)
      assert.equal(record.waiters, 0)
      assert.ok(
        record.remaining <= scene.units(400) && record.remaining > scene.units(300),
        `${record.remaining} ms are left`,
      )
    },
  },
  {
    name: 'acquire: a lock is busy until its time is over, and free from then on',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      await scene.pace.inTime(async (by) => {
        await one.grant(one.owner(), { ttl: scene.units(6) })
        await scene.pass(3)
        const { kind } = await two.acquire(two.owner())
        by(6)
        assert.equal(kind, 'busy')
      })
      await scene.pass(4)
      assert.equal(await one.inspect(), null)
      assert.equal((await two.acquire(two.owner())).kind, 'granted')
    },
  },
  {
    name: 'acquire: busy tells holder, fence and what is left, and changes nothing',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      const fence = await one.grant(owner, { ttl: scene.units(400) })
      for (const party of [one, two]) {
        const result = await party.acquire(party.owner(), { ttl: scene.units(500) })
        assert.ok(result.kind === 'busy' && result.holder !== null)
        assert.equal(result.holder.owner, owner)
        assert.equal(result.holder.fence, fence)
        const { remaining } = result.holder
        assert.ok(remaining !== null && remaining <= scene.units(400) && remaining > scene.units(300))
      }
      const record = await two.record()
      assert.deepEqual([record.owner, record.fence, record.waiters], [owner, fence, 0])
      assert.ok(record.remaining <= scene.units(400))
    },
  },
  {
    name: 'acquire: asked again by its owner, it answers the same fence',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      const fence = await one.grant(owner)
      for (let i = 0; i < 3; i += 1) {
        assert.deepEqual(await one.acquire(owner), { kind: 'granted', fence, again: true })
      }
      assert.deepEqual(await one.release(owner), { kind: 'released', wokeOther: false })
      assert.equal(await one.inspect(), null)
    },
  },
  {
    name: 'acquire: asked again by its owner, the lease is its full ttl from then',
    run: async (scene) => {
      const one = await scene.open()
      await scene.pace.inTime(async (by) => {
        const owner = one.owner()
        await one.grant(owner, { ttl: scene.units(8) })
        await scene.pass(4)
        await one.acquire(owner, { ttl: scene.units(8) })
        await scene.pass(5)
        const record = await one.inspect()
        by(4 + 8)
        assert.equal(record?.owner, owner)
      })
    },
  },
  {
    name: 'acquire: asked again by its owner for less, it never shortens the lease',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      await one.grant(owner, { ttl: scene.units(400) })
      await one.acquire(owner, { ttl: scene.units(2) })
      assert.ok((await one.record()).remaining > scene.units(300))
    },
  },
  {
    name: 'acquire: a new owner of the same process is not the old one',
    run: async (scene) => {
      const one = await scene.open()
      await one.grant(one.owner())
      assert.equal((await one.acquire(one.owner())).kind, 'busy')
    },
  },
]

const releasing: readonly CaseOutline[] = [
  {
    name: 'release: frees the lock of its owner, and finds nothing the second time',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      await one.grant(owner)
      assert.deepEqual(await one.release(owner), { kind: 'released', wokeOther: false })
      assert.equal(await two.inspect(), null)
      assert.deepEqual(await one.release(owner), { kind: 'missing' })
      assert.equal((await two.acquire(two.owner())).kind, 'granted')
    },
  },
  {
    name: 'release: of a lock that nobody took, or whose time is over, is missing',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      assert.deepEqual(await one.release(owner), { kind: 'missing' })
      await one.grant(owner, { ttl: scene.units(2) })
      await scene.pass(3)
      assert.deepEqual(await one.release(owner), { kind: 'missing' })
    },
  },
  {
    name: "release: never frees another owner's lock, and tells whose it is",
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const [early, late] = [one.owner(), two.owner()]
      await one.grant(early, { ttl: scene.units(2) })
      await scene.pass(3)
      const fence = await two.grant(late, { ttl: scene.units(400) })
      // An owner whose name begins the holder's, or is begun by it, is another owner too.
      for (const owner of [early, one.owner(), late.slice(0, -1), `${late}0`]) {
        const result = await one.release(owner)
        assert.ok(result.kind === 'other', `a release by ${owner} was answered ${result.kind}`)
        assert.deepEqual([result.holder.owner, result.holder.fence], [late, fence])
        assert.ok(result.holder.remaining !== null && result.holder.remaining > scene.units(300))
      }
      assert.equal((await two.record()).owner, late)
    },
  },
  {
    name: 'release: carries no deadline, it is done however late it comes',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      await one.grant(owner)
      const { result } = await one.locks.release(
        { address: scene.lock, owner },
        scene.attempt(-scene.units(1)),
      )
      assert.equal(result.kind, 'released')
    },
  },
]

const renewing: readonly CaseOutline[] = [
  {
    name: 'renew: prolongs the lease of owner and fence, and changes nothing else',
    run: async (scene) => {
      const one = await scene.open()
      await scene.pace.inTime(async (by) => {
        const owner = one.owner()
        const fence = await one.grant(owner, { ttl: scene.units(8) })
        await scene.pass(4)
        const renewed = await one.renew(owner, fence, { ttl: scene.units(8) })
        by(8)
        assert.deepEqual(renewed, { kind: 'renewed' })
        await scene.pass(5)
        const record = await one.inspect()
        const released = await one.release(owner)
        by(4 + 8)
        assert.deepEqual([record?.owner, record?.fence], [owner, fence])
        // Clocks differ in their last millisecond, so not exactly 3.
        assert.ok((record?.remaining ?? Infinity) < scene.units(4))
        assert.equal(released.kind, 'released')
      })
    },
  },
  {
    name: 'renew: never shortens',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      const fence = await one.grant(owner, { ttl: scene.units(400) })
      assert.deepEqual(await one.renew(owner, fence, { ttl: scene.units(2) }), { kind: 'renewed' })
      assert.ok((await one.record()).remaining > scene.units(300))
    },
  },
  {
    name: 'renew: another owner, or the same owner with another fence, gets nothing',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      const fence = await one.grant(owner, { ttl: scene.units(400) })
      // Fences that only begin with the right digits are others too.
      for (const [who, which] of [
        [two.owner(), fence],
        [owner, fence + 1n],
        [owner, fence - 1n],
        [owner, fence / 10n],
        [owner, fence * 10n],
      ] as const) {
        const result = await two.renew(who, which, { ttl: scene.units(500) })
        assert.ok(result.kind === 'other', `renewal of fence ${which} was answered ${result.kind}`)
        assert.deepEqual([result.holder.owner, result.holder.fence], [owner, fence])
      }
      assert.ok((await one.record()).remaining <= scene.units(400))
    },
  },
  {
    name: 'renew: never creates the lock anew, not after release, expiry, or a free lock',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      assert.deepEqual(await one.renew(owner, 1n), { kind: 'missing' })
      const fence = await one.grant(owner)
      await one.release(owner)
      assert.deepEqual(await one.renew(owner, fence), { kind: 'missing' })
      const later = one.owner()
      const laterFence = await one.grant(later, { ttl: scene.units(2) })
      await scene.pass(3)
      assert.deepEqual(await one.renew(later, laterFence), { kind: 'missing' })
      assert.equal(await one.inspect(), null)
    },
  },
  {
    name: 'C3 renew: a lock deleted behind our back is missing, and stays so',
    needs: (_traits, doors) => doors.remove,
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      const fence = await one.grant(owner)
      await scene.doors.remove(scene.lock.key)
      assert.deepEqual(await one.renew(owner, fence), { kind: 'missing' })
      assert.equal(await one.inspect(), null)
      assert.deepEqual(await one.release(owner), { kind: 'missing' })
    },
  },
]

const late: readonly CaseOutline[] = [
  {
    name: 'late: an acquire after its time grants nothing, prolongs nothing and joins nothing',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      const tooLate = () => scene.attempt(-scene.units(1))
      await one.grant(one.owner(), { address: scene.address('other') })
      assert.deepEqual(await one.acquire(owner, { attempt: tooLate(), queue: JOIN }), { kind: 'late' })
      assert.equal(await one.inspect(), null)
      await one.grant(owner, { ttl: scene.units(400) })
      assert.deepEqual(await one.acquire(owner, { attempt: tooLate(), ttl: scene.units(500) }), {
        kind: 'late',
      })
      assert.deepEqual(await two.acquire(two.owner(), { attempt: tooLate(), queue: JOIN }), { kind: 'late' })
      const record = await one.record()
      assert.equal(record.waiters, 0)
      assert.ok(record.remaining <= scene.units(400))
    },
  },
  {
    name: 'late: a renewal after its time prolongs nothing',
    run: async (scene) => {
      const one = await scene.open()
      const owner = one.owner()
      const fence = await one.grant(owner, { ttl: scene.units(400) })
      const attempt = scene.attempt(-scene.units(1))
      assert.deepEqual(await one.renew(owner, fence, { ttl: scene.units(500), attempt }), { kind: 'late' })
      assert.ok((await one.record()).remaining <= scene.units(400))
    },
  },
]

export const leaseCases: readonly CaseOutline[] = [...acquiring, ...releasing, ...renewing, ...late]
