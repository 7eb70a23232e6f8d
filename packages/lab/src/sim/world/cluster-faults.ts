import { lockAddress } from 'holdfast/testing'
import type { ServerHost } from '../network/server-host.ts'
import type { Fault } from '../plan/plan.ts'
import { FAILED_OVER } from './fault-injector.ts'
import type { World } from './world.ts'

type NodeFault = Extract<Fault, { kind: 'move-slot' | 'node-dies' | 'node-freezes' }>

/** What the history says while a slot is on its way. */
export const SLOT_MOVES = 'slot moves'
/** After a move or a switch, until every node and every client goes by it, in milliseconds. */
const KNOWN_AFTER = 600

/** Lets a fault of a cluster befall the node that has a lock. */
export function befallNode(world: World, fault: NodeFault): void {
  const { cluster, plan, recorder, scheduler } = world
  if (cluster === null) return
  const { key } = lockAddress('holdfast:v1', plan.names[fault.name] as string)
  const host = cluster.placeOf(key)
  const from = scheduler.now
  const service = (cause: string, until: number): void =>
    recorder.fault({ cause, breaks: ['service'], from, until })
  switch (fault.kind) {
    case 'move-slot':
      if (fallsBehind(world, fault.name, cluster.nextPlaceOf(key, fault.step))) return
      if (cluster.moveSlot(key, fault.step, fault.for)) service(SLOT_MOVES, from + fault.for + KNOWN_AFTER)
      return
    case 'node-freezes':
      host.busyFor(fault.for)
      return service('frozen node', host.busyUntil + KNOWN_AFTER)
    case 'node-dies': {
      if (host.down || cluster.isMoving(host) || breaksFences(world, key)) return
      recorder.fault({ cause: FAILED_OVER, breaks: ['leases'], from, until: from + fault.for })
      service(FAILED_OVER, from + fault.for + KNOWN_AFTER)
      world.lose(host)
      cluster.failOver(host, { lag: fault.lag, after: fault.for })
      world.storeLog.look('failover')
    }
  }
}

/** Whether the last fence of a lock was lost, and the clock of the node that it would go to is behind: not promised either. */
function fallsBehind(world: World, name: number, next: ServerHost): boolean {
  const { key, queueKey } = lockAddress('holdfast:v1', world.plan.names[name] as string)
  const { model, nowMicros } = world.serverOf(key)
  // In a cluster each lock has a last fence of its own, beside its queue.
  const last = model.value(queueKey.replace(/queue$/, 'fence'), nowMicros)
  const highest = world.storeLog.highestFenceOf(name)
  const isLost = typeof last !== 'string' || BigInt(last) < highest
  return isLost && BigInt(Math.max(0, next.nowMicros)) <= highest
}

/** Whether a lock of that node has a fence that its successor's clock is behind: the one thing that is not promised. */
function breaksFences(world: World, key: string): boolean {
  const host = world.serverOf(key)
  return world.plan.names.some((name, index) => {
    if (world.serverOf(lockAddress('holdfast:v1', name).key) !== host) return false
    return BigInt(Math.max(0, host.nowMicros)) <= world.storeLog.highestFenceOf(index)
  })
}
