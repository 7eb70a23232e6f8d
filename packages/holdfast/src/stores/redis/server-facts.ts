import type { Clock } from '../../clock.ts'
import { answered } from '../../answered.ts'
import type { RedisPort } from './port.ts'

/** What can be read of a server. What its user may not read, or a managed service does not show, is missing. */
export interface ServerFacts {
  /** The lines of INFO. */
  readonly info: ReadonlyMap<string, string>
  /** What CONFIG GET showed. */
  readonly config: ReadonlyMap<string, string>
  /** The server's clock less this machine's, in milliseconds, and by how much that may be wrong. */
  readonly clock: { readonly ahead: number; readonly within: number } | null
  /** The name of the client's user. */
  readonly user: string | null
}

const SETTINGS = [
  'maxmemory',
  'maxmemory-policy',
  'appendonly',
  'appendfsync',
  'save',
  'min-replicas-to-write',
]

/**
 * Reads them. Rejects only when there is no connection; each reading that fails, or is not answered in time, is missing. At most nine
 * commands, all sent at once.
 *
 * @param until monotonic milliseconds
 */
export async function readServer(port: RedisPort, clock: Clock, until: number): Promise<ServerFacts> {
  if (!port.ready) await port.whenReady(until)
  const ask = (...command: string[]): Promise<unknown> => answered(port.send(command), clock, until)
  const [time, info, user, ...settings] = await Promise.all([
    readClock(port, clock, until),
    ask('INFO'),
    ask('ACL', 'WHOAMI'),
    ...SETTINGS.map((name) => ask('CONFIG', 'GET', name)),
  ])
  const config = new Map<string, string>()
  for (const [i, name] of SETTINGS.entries()) {
    const value = settingIn(settings[i], name)
    if (value !== null) config.set(name, value)
  }
  return {
    info: linesOf(typeof info === 'string' || Buffer.isBuffer(info) ? info.toString() : ''),
    config,
    clock: time,
    user: typeof user === 'string' || Buffer.isBuffer(user) ? user.toString() : null,
  }
}

async function readClock(port: RedisPort, clock: Clock, until: number): Promise<ServerFacts['clock']> {
  const sent = clock.wall()
  const reply = await answered(port.send(['TIME']), clock, until)
  const got = clock.wall()
  const [seconds, micros] = Array.isArray(reply) ? reply.map(Number) : []
  if (seconds === undefined || micros === undefined) return null
  const within = (got - sent) / 2
  return { ahead: seconds * 1_000 + micros / 1_000 - (sent + within), within }
}

/** CONFIG GET comes as a list, or under RESP3 as a map or an object. */
function settingIn(reply: unknown, name: string): string | null {
  if (Array.isArray(reply)) return reply.length === 2 ? String(reply[1]) : null
  const value: unknown =
    reply instanceof Map
      ? reply.get(name)
      : typeof reply === 'object' && reply !== null
        ? (reply as Record<string, unknown>)[name]
        : undefined
  return typeof value === 'string' || Buffer.isBuffer(value) ? value.toString() : null
}

function linesOf(info: string): Map<string, string> {
  const lines = new Map<string, string>()
  for (const line of info.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) lines.set(line.slice(0, colon), line.slice(colon + 1))
  }
  return lines
}
