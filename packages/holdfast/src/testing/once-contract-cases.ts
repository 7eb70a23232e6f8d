import assert from 'node:assert/strict'
import type { OutcomeForm } from '../store/once/contract.ts'
import { LONG, VALUE, type OnceCaseOutline } from './once-contract-scene.ts'

const PARALLEL = 50
const done = { kind: 'done', outcome: VALUE, fingerprint: null } as const

/** What a run goes through: claimed, renewed, ended one way or the other. */
export const runCases: readonly OnceCaseOutline[] = [
  {
    name: 'F9: of many claims at once by two processes one is granted, the others are told that it runs',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const claims = Array.from({ length: PARALLEL }, (_, i) => (i % 2 ? one : two).claim(scene.owner()))
      const kinds = (await Promise.all(claims)).map(({ kind }) => kind)
      assert.equal(kinds.filter((kind) => kind === 'claimed').length, 1)
      assert.equal(kinds.filter((kind) => kind === 'running').length, PARALLEL - 1)
    },
  },
  {
    name: 'F1: an outcome is replayed as it was stored, however empty or odd its body is',
    run: async (scene) => {
      const one = await scene.open()
      const bodies = [
        '',
        '0',
        'false',
        'null',
        '""',
        ' ',
        '-',
        'a\nb\n',
        'é😀\u0000\r\n',
        '{"a":"b c"}',
        'x'.repeat(300_000),
      ]
      const forms: OutcomeForm[] = ['value', 'value-bytes', 'void', 'error', 'error-bytes', 'unstored']
      for (const [i, body] of [...bodies, ...forms].entries()) {
        const wish = { id: `body ${i}`, fingerprint: i % 2 === 0 ? null : 'print' }
        const outcome = { form: forms[i % forms.length] as OutcomeForm, body }
        assert.equal(await one.complete(await one.claimed(wish), outcome, wish), 'done')
        const { fingerprint } = wish
        assert.deepEqual(await one.claim(scene.owner(), wish), { kind: 'done', outcome, fingerprint })
      }
    },
  },
  {
    name: 'an owner that asks again has it still, and its lease in full',
    run: async (scene) => {
      const one = await scene.open()
      const owner = await one.claimed({ lease: scene.units(2) })
      await scene.pass(3)
      assert.deepEqual(await one.claim(owner, { lease: LONG }), { kind: 'claimed', attempt: 1 })
      const found = await one.claim(scene.owner())
      assert.ok(found.kind === 'running' && found.left > scene.units(2))
      assert.equal(await one.complete(owner), 'done')
      assert.equal(await one.complete(owner), 'done')
      assert.deepEqual(await one.claim(scene.owner()), done)
    },
  },
  {
    name: 'F12: another payload is refused whatever the state, and changes nothing; without one nothing is compared',
    run: async (scene) => {
      const one = await scene.open()
      const wish = { fingerprint: 'first', lease: scene.units(1), retryAbandoned: true }
      const other = { ...wish, fingerprint: 'second' }
      const mismatch = { kind: 'mismatch', fingerprint: 'first' }
      const owner = await one.claimed({ ...wish, lease: LONG })
      assert.deepEqual(await one.claim(scene.owner(), other), mismatch)
      assert.equal((await one.claim(scene.owner())).kind, 'running')
      assert.equal(await one.complete(owner, VALUE, wish), 'done')
      assert.deepEqual(await one.claim(scene.owner(), other), mismatch)
      assert.deepEqual(await one.claim(scene.owner()), { ...done, fingerprint: 'first' })
      const abandoned = { ...wish, id: 'abandoned' }
      await one.claimed(abandoned)
      await scene.pass(2)
      assert.deepEqual(await one.claim(scene.owner(), { ...other, id: 'abandoned' }), mismatch)
      await one.claimed(abandoned, 2)
    },
  },
  {
    name: 'F10: keys of other scopes are other keys, also where their texts join to the same',
    run: async (scene) => {
      const one = await scene.open()
      for (const [scope, id] of [
        ['a', 'b|c'],
        ['a|b', 'c'],
        ['A', 'b|c'],
        ['a}', '{b'],
        ['a%7D', '{b'],
      ] as const)
        await one.claimed({ scope, id })
    },
  },
  {
    name: 'a run that is freed leaves nothing, and its key is new',
    run: async (scene) => {
      const one = await scene.open()
      const owner = await one.claimed({ fingerprint: 'first' })
      assert.equal(await one.free(owner), 'freed')
      assert.equal(await one.free(owner), 'missing')
      assert.equal(await one.inspect(), null)
      await one.claimed({ fingerprint: 'second' })
    },
  },
  {
    name: 'what comes too late does nothing and says so; what ends a run is never too late',
    run: async (scene) => {
      const one = await scene.open()
      const late = { attempt: scene.attempt(-scene.units(1)) }
      assert.deepEqual(await one.claim(scene.owner(), late), { kind: 'late' })
      assert.equal(await one.inspect(), null)
      const owner = await one.claimed({ lease: scene.units(1) })
      assert.equal(await one.renew(owner, { attempt: scene.attempt(-scene.units(1)) }), 'late')
      await scene.pass(2)
      assert.equal((await one.inspect())?.left, 0)
      const settling = { attempt: scene.attempt(-scene.units(1)) }
      assert.equal(await one.settle(scene.owner(), VALUE, settling), 'late')
      assert.equal(await one.complete(owner, VALUE, { attempt: scene.attempt(-scene.units(1)) }), 'done')
    },
  },
  {
    name: 'a call is known by what it is about: those of one turn do not mix',
    run: async (scene) => {
      const one = await scene.open()
      const ids = Array.from({ length: 40 }, (_, i) => `many ${i}`)
      const owners = await Promise.all(
        ids.map((id) => one.claimed({ id, fingerprint: id.replace(' ', '-') })),
      )
      const bodies = ids.map((id) => ({ form: 'value', body: id }) as const)
      await Promise.all(ids.map((id, i) => one.complete(owners[i] ?? '', bodies[i], { id })))
      const found = await Promise.all(ids.map((id) => one.claim(scene.owner(), { id })))
      assert.deepEqual(
        found.map((result) => result.kind === 'done' && result.outcome),
        bodies,
      )
    },
  },
]

/** What becomes of runs whose lease is over. */
export const abandonedCases: readonly OnceCaseOutline[] = [
  {
    name: 'F6: a run whose lease is over is told as such, and nobody takes over who did not ask to',
    run: async (scene) => {
      const one = await scene.open()
      await one.claimed({ lease: scene.units(1) })
      await scene.pass(2)
      for (let i = 0; i < 3; i += 1)
        assert.deepEqual(await one.claim(scene.owner()), {
          kind: 'running',
          left: 0,
          attempt: 1,
          fingerprint: null,
        })
    },
  },
  {
    name: 'F5: it is taken over after the lease, by one, and the runs are counted',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const wish = () => ({ lease: scene.units(4), retryAbandoned: true })
      await scene.pace.inTime(async (by) => {
        await one.claimed(wish())
        const { kind } = await two.claim(scene.owner(), wish())
        by(4)
        assert.equal(kind, 'running')
      })
      await scene.pass(5)
      const takers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          (i % 2 ? one : two).claim(scene.owner(), { ...wish(), lease: LONG }),
        ),
      )
      const claimed = takers.filter(({ kind }) => kind === 'claimed')
      assert.deepEqual(claimed, [{ kind: 'claimed', attempt: 2 }])
    },
  },
  {
    name: 'F4: one that ends after its lease, before anybody came, has ended: its outcome is replayed',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const owner = await one.claimed({ lease: scene.units(1) })
      await scene.pass(2)
      assert.equal((await two.claim(scene.owner())).kind, 'running')
      assert.equal(await one.complete(owner), 'done')
      assert.deepEqual(await two.claim(scene.owner(), { retryAbandoned: true }), done)
      assert.equal(await two.settle(scene.owner(), null), 'done')
      assert.deepEqual(await two.claim(scene.owner()), done)
    },
  },
  {
    name: 'F7: one whose key was taken over changes nothing any more, while the other runs and after',
    run: async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()]
      const first = await one.claimed({ lease: scene.units(1) })
      await scene.pass(2)
      const second = await two.claimed({ retryAbandoned: true }, 2)
      const late = { form: 'value', body: '"late"' } as const
      const tries = async () => [
        await one.renew(first),
        await one.complete(first, late),
        await one.free(first),
      ]
      assert.deepEqual(await tries(), ['other', 'other', 'other'])
      assert.equal(await two.renew(second), 'renewed')
      assert.equal(await two.complete(second), 'done')
      assert.deepEqual(await tries(), ['other', 'other', 'other'])
      assert.deepEqual(await one.claim(scene.owner()), done)
    },
  },
  {
    name: 'a renewal prolongs a lease, also one that is over when nobody came; it never makes a record',
    run: async (scene) => {
      const one = await scene.open()
      const owner = await one.claimed({ lease: scene.units(1) })
      await scene.pass(2)
      assert.equal(await one.renew(owner), 'renewed')
      assert.equal((await one.claim(scene.owner(), { retryAbandoned: true })).kind, 'running')
      assert.equal(await one.renew(scene.owner()), 'other')
      assert.equal(await one.renew(owner, { lease: scene.units(1) }), 'renewed')
      const view = await one.inspect()
      assert.ok(view !== null && view.left > scene.units(10), 'never shortens')
      await one.free(owner)
      assert.equal(await one.renew(owner), 'missing')
      assert.equal(await one.inspect(), null)
    },
  },
  {
    name: 'freed runs leave those before them counted; one that did not begin does not count',
    run: async (scene) => {
      const one = await scene.open()
      const wish = { lease: scene.units(1), retryAbandoned: true }
      await one.claimed(wish)
      await scene.pass(2)
      const second = await one.claimed(wish, 2)
      assert.equal(await one.free(second, false), 'freed')
      assert.equal(await one.free(second, false), 'freed')
      assert.deepEqual((await one.inspect())?.state, 'open')
      const again = await one.claimed(wish, 2)
      assert.equal(await one.free(again, true), 'freed')
      assert.equal(await one.complete(again), 'other')
      await one.claimed(wish, 3)
    },
  },
  {
    name: 'F6: a settlement decides: by an outcome, or by letting it run again; the late run changes neither',
    run: async (scene) => {
      const one = await scene.open()
      assert.equal(await one.settle(scene.owner(), VALUE), 'missing')
      const owner = await one.claimed({ lease: scene.units(4), fingerprint: 'print' })
      assert.equal(await one.settle(scene.owner(), VALUE), 'running')
      await scene.pass(5)
      const settler = scene.owner()
      assert.equal(await one.settle(settler, null), 'settled')
      assert.equal(await one.settle(settler, null), 'settled')
      assert.equal(await one.complete(owner), 'other')
      const next = await one.claimed({ lease: scene.units(1), fingerprint: 'print' }, 2)
      await scene.pass(2)
      const second = scene.owner()
      assert.equal(await one.settle(second, VALUE), 'settled')
      assert.equal(await one.settle(second, VALUE), 'settled')
      assert.equal(await one.settle(scene.owner(), null), 'done')
      assert.equal(await one.complete(next, { form: 'void', body: '' }), 'other')
      assert.deepEqual(await one.claim(scene.owner()), { ...done, fingerprint: 'print' })
    },
  },
  {
    name: 'F14: an outcome that could not be stored is told, never run again, and can be settled',
    run: async (scene) => {
      const one = await scene.open()
      const unstored = { form: 'unstored', body: 'too-large' } as const
      assert.equal(await one.complete(await one.claimed(), unstored), 'done')
      const found = await one.claim(scene.owner(), { retryAbandoned: true })
      assert.deepEqual(found, { ...done, outcome: unstored })
      assert.equal(await one.settle(scene.owner(), VALUE), 'settled')
      assert.deepEqual(await one.claim(scene.owner()), done)
    },
  },
]

/** What is kept, and for how long. */
export const recordCases: readonly OnceCaseOutline[] = [
  {
    name: 'F3: a record is seen as it is, and always expires',
    run: async (scene) => {
      const one = await scene.open()
      const [lease, retention] = [scene.units(20), scene.units(40)]
      const owner = await one.claimed({ fingerprint: 'print', lease, retention })
      const running = await one.inspect()
      assert.ok(running !== null)
      const { left, remaining, since, ...rest } = running
      assert.deepEqual(rest, { state: 'running', owner, attempt: 1, fingerprint: 'print', outcome: null })
      assert.ok(left > 0 && left <= lease && remaining > lease && remaining <= retention)
      await one.complete(owner, VALUE, { retention })
      const ended = await one.inspect()
      assert.ok(ended !== null && ended.since >= since && ended.remaining <= retention)
      assert.deepEqual([ended.state, ended.left, ended.outcome], ['done', 0, VALUE])
      assert.deepEqual(await scene.doors.keysWithoutExpiry(), [])
    },
  },
  {
    name: 'an outcome is forgotten after its retention, and a renewal prolongs that of a run',
    run: async (scene) => {
      const one = await scene.open()
      const wish = { lease: scene.units(2), retention: scene.units(8) }
      const owner = await one.claimed(wish)
      await scene.pass(5)
      assert.equal(await one.renew(owner, wish), 'renewed')
      await scene.pass(5)
      assert.equal(await one.complete(owner, VALUE, wish), 'done')
      assert.deepEqual(await one.claim(scene.owner(), wish), done)
      await scene.pass(9)
      assert.equal(await one.inspect(), null)
      await one.claimed(wish)
    },
  },
  {
    name: 'no path leaves a record without an expiry',
    needs: 'keysWithoutExpiry',
    run: async (scene) => {
      const one = await scene.open()
      const ids = ['claimed', 'renewed', 'done', 'opened', 'settled', 'restored']
      const wish = { lease: scene.units(1), retryAbandoned: true }
      for (const id of ids) {
        const owner = await one.claimed({ ...wish, id })
        if (id === 'renewed') await one.renew(owner, { id })
        if (id === 'done') await one.complete(owner, VALUE, { id })
      }
      await scene.pass(2)
      await one.free(await one.claimed({ ...wish, id: 'opened' }, 2), true, { id: 'opened' })
      await one.settle(scene.owner(), VALUE, { id: 'settled' })
      await one.complete(scene.owner(), VALUE, { id: 'fresh' })
      assert.deepEqual(await scene.doors.keysWithoutExpiry(), [])
    },
  },
  {
    name: 'a run whose record is gone stores its outcome all the same, unless another stands there',
    needs: 'remove',
    run: async (scene) => {
      const one = await scene.open()
      const owner = await one.claimed({ fingerprint: 'print' })
      await scene.doors.remove(scene.address().key)
      assert.equal(await one.renew(owner), 'missing')
      assert.equal(await one.complete(owner, VALUE, { fingerprint: 'print' }), 'done')
      assert.deepEqual(await one.claim(scene.owner()), { ...done, fingerprint: 'print' })
      await scene.doors.remove(scene.address().key)
      const other = await one.claimed()
      assert.equal(await one.complete(owner), 'other')
      assert.equal(await one.complete(other), 'done')
    },
  },
]
