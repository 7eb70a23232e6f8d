import type { Clock } from '../../clock.ts'
import type { LockAddress } from '../../name.ts'
import type { LockListener } from '../../store/contract.ts'
import { WakeChannel } from '../../store/wake-channel.ts'
import type { RedisLink } from './link.ts'

/** The channel of this process. */
export function redisWakeChannel(link: RedisLink, clock: Clock, channels: readonly string[]): WakeChannel {
  return new WakeChannel(clock, {
    subscribe: (onMessage, onGap) => link.subscribe(channels, onMessage, onGap),
    hear,
  })
}

/** Messages are `free LOCK` and `forced OWNER LOCK`; a lock's name may hold spaces, an owner none. */
export function hear(message: string, listener: LockListener): void {
  const [word, first = '', ...rest] = message.split(' ')
  if (word === 'free') listener.wake([first, ...rest].join(' '))
  else if (word === 'forced') listener.forced(rest.join(' '), first)
}

const QUEUE = 'queue'
const FREE = 'free:'

/** The sharded channel of a process for a name, beside the name's queue. */
export const channelOf = ({ queueKey }: LockAddress, process: string): string =>
  queueKey.slice(0, -QUEUE.length) + FREE + process
