import { InvalidArgumentError } from '../errors.ts'

const FINAL = Symbol.for('holdfast.final')

/**
 * Marks an error as a final outcome: thrown by the work of an idempotent run it is stored, and repeats are rejected with the
 * same instead of running the work again. Gives the very error back: `throw finalError(new CardDeclined())`. Costs nothing.
 *
 * @throws InvalidArgumentError for what cannot be marked: primitives, frozen objects
 */
export function finalError<E extends object>(error: E): E {
  const marked =
    typeof error === 'object' &&
    error !== null &&
    Reflect.defineProperty(error, FINAL, { value: true, configurable: true })
  if (marked) return error
  throw new InvalidArgumentError('error', error, {
    problem: 'cannot be marked as final',
    remedy: 'Give an Error that is not frozen.',
  })
}

/** Whether an error was marked by {@link finalError}, of whichever copy of the library. */
export function isFinalError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && FINAL in error
}

/** What is kept of an error. */
interface KeptError {
  readonly name: string
  readonly message: string
  /** Its own enumerable properties, as `code` and `status`. */
  readonly properties: Readonly<Record<string, unknown>>
}

/** What is handed to the codec for an error. */
export function keptError(error: unknown): KeptError {
  if (!(error instanceof Error)) return { name: '', message: '', properties: { value: error } }
  const { name, message } = error
  const properties = Object.fromEntries(
    Object.entries(error).filter(([key, value]) => key !== 'name' && typeof value !== 'function'),
  )
  // No name stands for what is no error.
  return { name: name === '' ? 'Error' : name, message, properties }
}

/**
 * What a repeat rejects with: what was thrown if it was no error; else an `Error` with the same name, message and properties,
 * marked as final, and with `replayed: true` (not enumerable). Its class is not restored.
 */
export function restoredError(kept: unknown): unknown {
  const { name, message, properties } = kept as KeptError
  if (name === '') return properties['value']
  const error = new Error(message)
  const hidden = { configurable: true, writable: true }
  for (const [key, value] of Object.entries(properties))
    Object.defineProperty(error, key, { value, enumerable: true, ...hidden })
  Object.defineProperty(error, 'name', { value: name, ...hidden })
  Object.defineProperty(error, 'replayed', { value: true, ...hidden })
  return finalError(error)
}
