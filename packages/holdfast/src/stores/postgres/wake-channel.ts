import type { Clock } from '../../clock.ts'
import { WakeChannel } from '../../store/wake-channel.ts'
import type { PostgresClientPort } from './port.ts'

/** Payloads are `[LOCK]` and `[LOCK, OWNER]` as JSON; an empty one stands for what had no room. */
export function postgresWakeChannel(client: PostgresClientPort, clock: Clock, channel: string): WakeChannel {
  return new WakeChannel(clock, {
    subscribe: (onMessage, onGap) => client.subscribe(channel, onMessage, onGap),
    hear: (payload, listener) => {
      if (payload === '') return listener.gap()
      const [key = '', owner] = JSON.parse(payload) as string[]
      if (owner === undefined) listener.wake(key)
      else listener.forced(key, owner)
    },
  })
}
