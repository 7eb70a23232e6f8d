/**
 * Lets our error ride along with the work's own, which is never replaced, as its non-enumerable `holdfast`. Primitives cannot
 * carry it, nor can objects that are frozen or do not let it be set.
 */
export function attach(error: unknown, ours: Error): void {
  if (typeof error !== 'object' || error === null || error === ours) return
  try {
    const parts = { value: ours, enumerable: false, configurable: true, writable: true }
    Reflect.defineProperty(error, 'holdfast', parts)
  } catch {
    // A proxy of theirs said no.
  }
}
