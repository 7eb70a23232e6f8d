import assert from 'node:assert/strict'
import type { CaseOutline } from './contract-scene.ts'

const forcing: readonly CaseOutline[] = [
  {
    name: 'force: takes the lock from the owner given, and from no other',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = one.owner()
      assert.deepEqual(await two.force(owner), { kind: 'missing' })
      await one.grant(owner)
      const other = await two.force(one.owner())
      assert.equal(other.kind === 'other' && other.holder.owner, owner)
      assert.equal((await one.record()).owner, owner)
      assert.equal((await two.force(owner)).kind, 'forced')
      assert.equal(await one.inspect(), null)
      assert.deepEqual(await one.release(owner), { kind: 'missing' })
    },
  },
  {
    name: 'force: the holder is told, and nobody else',
    needs: (traits) => traits.wake === 'push',
    run: async (scene) => {
      const [holder, bystander, operator] = [
        await scene.openListening(),
        await scene.openListening(),
        await scene.open(),
      ]
      const owner = holder.owner()
      await holder.grant(owner)
      await operator.force(owner)
      await scene.eventually(() => holder.heard.forced.length > 0, 'the holder is told')
      assert.deepEqual(holder.heard.forced, [{ key: scene.lock.key, owner }])
      assert.deepEqual(bystander.heard.forced, [])
    },
  },
]

const foreign: readonly CaseOutline[] = [
  {
    name: "foreign: another software's lock excludes us, is shown, and is neither released nor renewed",
    needs: (_traits, doors) => doors.put,
    run: async (scene) => {
      const one = await scene.open()
      // The last two look like ours as far as they go.
      for (const value of [
        'a-python-service',
        `${one.owner()}#12x`,
        '#',
        `${one.owner()}#99999999999999999`,
      ]) {
        await scene.doors.put(scene.lock.key, value, scene.units(40))
        const busy = await one.acquire(one.owner())
        assert.ok(
          busy.kind === 'busy' && busy.holder !== null,
          `an acquire beside ${value} was answered ${busy.kind}`,
        )
        assert.deepEqual([busy.holder.owner, busy.holder.fence], [value, null])
        const record = await one.record()
        assert.deepEqual([record.owner, record.fence], [value, null])
        assert.ok(record.remaining > scene.units(20))
        const owner = value.split('#', 1)[0] ?? ''
        assert.equal((await one.release(owner === value ? one.owner() : owner)).kind, 'other')
        assert.equal((await one.renew(one.owner(), 1n)).kind, 'other')
        assert.equal((await one.force(value)).kind, 'forced')
        assert.equal(await one.inspect(), null)
      }
    },
  },
  {
    name: 'foreign: a lock without an expiry is shown as one, and ours is not',
    needs: (_traits, doors) => doors.put,
    run: async (scene) => {
      const one = await scene.open()
      await scene.doors.put(scene.lock.key, 'for ever', null)
      assert.equal((await one.inspect())?.remaining, null)
      const busy = await one.acquire(one.owner())
      assert.equal(busy.kind === 'busy' && busy.holder?.remaining, null)
      await one.force('for ever')
      await one.grant(one.owner())
      assert.ok((await one.record()).remaining > 0)
    },
  },
]

/** Locks that are taken away, and those that another software took. */
export const takenCases: readonly CaseOutline[] = [...forcing, ...foreign]
