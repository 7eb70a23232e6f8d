import type { HeaderField } from '../ratelimit-fields.ts'

/** Fields to be set on a response, each name once: several lines of one name as a list. */
export function fieldsByName(headers: readonly HeaderField[]): Map<string, string | string[]> {
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of headers) {
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : [before, value].flat())
  }
  return fields
}
