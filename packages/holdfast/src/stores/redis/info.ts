/** The text of a reply to INFO, however the client gives it; empty for what is none. */
export function infoText(reply: unknown): string {
  return typeof reply === 'string' || Buffer.isBuffer(reply) ? reply.toString() : ''
}

/** What a line of INFO says; `null` where there is none of that name, or nothing in it. */
export function infoLine(info: string, name: string): string | null {
  return new RegExp(`^${name}:(\\S+)\\s*$`, 'm').exec(info)?.[1] ?? null
}
