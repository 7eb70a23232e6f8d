import type { Fault } from '../plan/plan.ts'
import type { World } from './world.ts'

export type FailoverFault = Extract<Fault, { kind: 'failover' }>

/**
 * Another server takes over, with what it has got of the data. The old one is gone, or goes on for a while for those who are
 * still connected to it, as on the wrong side of a network that has parted.
 */
export function failOver(world: World, fault: FailoverFault): void {
  const { lag, split, for: away } = fault
  const { scheduler } = world
  const old = world.server
  const { upFor, fallsBack = false } = fault
  const known = upFor === undefined && !fallsBack ? undefined : { upFor, fallsBack }
  const next = old.replica(lag, known)
  world.follow(next)
  if (split === null) {
    old.goDown()
    next.goDown()
    scheduler.at(scheduler.now + away, null, () => next.takeOver())
    return
  }
  world.leftBehind.push(old)
  next.part()
  for (const [index, client] of world.lives.entries())
    if (client !== null && !split.includes(index)) client.path.reset(['commands', 'channels'], 'lost')
  scheduler.at(scheduler.now + away, null, () => {
    old.goDown()
    next.rejoin()
  })
}
