import type { Clock } from '../../clock.ts'
import { WakeChannel } from '../../store/wake-channel.ts'
import type { PostgresClientPort } from './port.ts'

/** Payloads are `[LOCK]` and `[LOCK, OWNER]` as JSON; an empty one stands for what had no room. */
export function postgresWakeChannel(client: PostgresClientPort, clock: Clock, channel: string): WakeChannel {
  return new WakeChannel(clock, {
    subscribe: (onMessage, onGap) => client.subscribe(channel, onMessage, onGap),
    hear: (payload, listener) => {
      if (payload === '') return listener.gap()
      const [key, owner] = wordsOf(payload)
      if (key === undefined) return
      if (owner === undefined) listener.wake(key)
      else listener.forced(key, owner)
    },
  })
}

/** Whoever may connect to the database may say anything on any channel: what is not of our making says nothing. */
function wordsOf(payload: string): readonly string[] {
  try {
    const words: unknown = JSON.parse(payload)
    return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : []
  } catch {
    return []
  }
}
