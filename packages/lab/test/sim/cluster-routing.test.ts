import { afterAll, beforeAll, expect, test } from 'vitest'
import { ClusterMember } from '../../src/sim/cluster/member.ts'
import { SlotTable } from '../../src/sim/cluster/slot-table.ts'
import { ServerHost } from '../../src/sim/network/server-host.ts'
import { Scheduler } from '../../src/sim/scheduler.ts'
import { ModelServer } from '../../src/sim/server/model-server.ts'
import { RespError, startCluster, type RedisCluster, type RedisServer } from '../../src/index.ts'

/**
 * Goal: a node of the model sends callers away as a real one does: MOVED, ASK, TRYAGAIN, CROSSSLOT, or it serves.
 * Method: the slot of two keys on its way between two nodes of a real cluster, with both, one or none of the keys moved; every question is
 * put to both nodes, with ASKING and without, and to members of the model in the same state.
 */

const KEYS = ['r:{route}:a', 'r:{route}:b'] as const
const QUESTIONS = [
  [KEYS[0]],
  [KEYS[1]],
  [...KEYS],
  [KEYS[0], KEYS[0]],
  ['r:{route}:c'],
  [KEYS[0], 'r:{route}:c'],
  [KEYS[0], 'other'],
]

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ replicas: 0 })
})
afterAll(() => cluster.stop())

async function said(node: RedisServer, keys: readonly string[], asking: boolean): Promise<string> {
  const connection = await node.connect()
  try {
    if (asking) await connection.call('ASKING')
    await connection.call('EVAL', 'return 1', keys.length, ...keys)
    return 'served'
  } catch (error) {
    if (!(error instanceof RespError)) throw error
    const [word = '', slot = ''] = error.message.split(' ')
    return word === 'MOVED' || word === 'ASK' ? `${word} ${slot}` : word
  } finally {
    connection.close()
  }
}

function modelled(slot: number, at: { from: readonly string[]; to: readonly string[]; open: boolean }) {
  const scheduler = new Scheduler()
  const view = new SlotTable(['from:1', 'to:1'])
  view.set(slot, 'from:1')
  const [from, to] = (['from', 'to'] as const).map((name) => {
    const host = new ServerHost(scheduler, new ModelServer(), { rate: 1, offMillis: 0 })
    for (const key of at[name]) host.model.execute(['SET', key, 'x'], host.nowMicros)
    return new ClusterMember(`${name}:1`, host, view.copy())
  }) as [ClusterMember, ClusterMember]
  if (at.open) {
    from.migrating.set(slot, 'to:1')
    to.importing.add(slot)
  }
  return (member: 'from' | 'to', keys: readonly string[], asking: boolean): string => {
    const refusal = (member === 'from' ? from : to).refusal(keys, asking)
    if (refusal === null) return 'served'
    return /^(MOVED|ASK) \d+|^\w+/.exec(refusal.message)?.[0] ?? ''
  }
}

test('the model answers as Redis does, at every stage of a move', async () => {
  const slot = await cluster.slotOf(KEYS[0])
  const from = await cluster.ownerOf(slot)
  const to = await cluster.otherThan(from)
  for (const key of KEYS) await from.command('SET', key, 'x')
  const told: Record<string, string> = {}
  const compare = async (stage: string, moved: readonly string[], open: boolean): Promise<void> => {
    const left = KEYS.filter((key) => !moved.includes(key))
    const ask = modelled(slot, { from: left, to: moved, open })
    for (const keys of QUESTIONS) {
      for (const asking of [false, true]) {
        for (const [name, node] of [
          ['from', from],
          ['to', to],
        ] as const) {
          const question = `${stage}: ${name} of ${keys.join(' ')}${asking ? ' asking' : ''}`
          told[question] = await said(node, keys, asking)
          expect(ask(name, keys, asking), question).toBe(told[question])
        }
      }
    }
  }
  await compare('at rest', [], false)
  const move = await cluster.openSlot(slot, to)
  await compare('opened', [], true)
  await move.moveKeys([KEYS[0]])
  await compare('one moved', [KEYS[0]], true)
  await move.moveKeys([KEYS[1]])
  await compare('all moved', KEYS, true)
  const words = new Set(Object.values(told).map((text) => text.split(' ')[0]))
  expect(words).toEqual(new Set(['served', 'MOVED', 'ASK', 'TRYAGAIN', 'CROSSSLOT']))
})
