import { encodePart } from '../../name.ts'

/** Where the record of one key lies. */
export interface OnceAddress {
  /** The name of the idempotency, the scope and the key as the caller gave them. */
  readonly idempotency: string
  readonly scope: string
  readonly id: string
  readonly prefix: string
  /** `PREFIX:{IDEMPOTENCY|SCOPE|KEY}:once`. */
  readonly key: string
}

/** The address of a key of an idempotency, within its scope. */
export function onceAddress(prefix: string, idempotency: string, scope: string, id: string): OnceAddress {
  const parts = [encodePart(idempotency, 'name'), encodePart(scope, 'scope'), encodePart(id, 'key')]
  return { idempotency, scope, id, prefix, key: `${prefix}:{${parts.join('|')}}:once` }
}
