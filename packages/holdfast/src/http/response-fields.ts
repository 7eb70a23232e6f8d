import type { HeaderField } from './ratelimit-fields.ts'

/** What is used of a response to read and set its headers. */
export interface FieldTarget {
  get(name: string): unknown
  set(name: string, value: string): unknown
}

/**
 * Adds the fields of an admitted request. Lists are joined with what an earlier limiter told of the same request; other fields
 * are those of the last limiter.
 */
export function addFields(target: FieldTarget, fields: readonly HeaderField[]): void {
  for (const [name, value] of fields) {
    const before = name === 'RateLimit' || name === 'RateLimit-Policy' ? target.get(name) : undefined
    target.set(name, typeof before === 'string' && before !== '' ? `${before}, ${value}` : value)
  }
}

/** Sets the fields of a refusal: it speaks of the limiter that refused alone, whose `Retry-After` goes with its own `t`. */
export function setFields(target: FieldTarget, fields: readonly HeaderField[]): void {
  for (const [name, value] of fields) target.set(name, value)
}
