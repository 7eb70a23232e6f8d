/**
 * The worker's side of `spawnWorker`. Messages are lines of JSON on the channel that Node gives to a child process.
 */

/** What can travel. A bigint goes as a string. */
export type Json =
  string | number | boolean | null | undefined | readonly Json[] | { readonly [key: string]: Json }

export interface WorkerCall {
  readonly id: number
  readonly call: string
  readonly args: readonly Json[]
}

export interface WorkerAnswer {
  readonly id: number
  readonly value?: unknown
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string }
}

// Handlers name their own parameters; what comes is JSON of the test's making.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Handler = (...args: any[]) => unknown

/**
 * Answers the parent's calls by these handlers, and tells it that the worker is ready. From then on the process lives
 * until it is ended, or until the parent goes.
 */
export function serveWorker(handlers: Readonly<Record<string, Handler>>): void {
  process.on('message', (message) => void answer(handlers, message as WorkerCall))
  process.on('disconnect', () => process.exit())
  tell('ready', null)
}

/** Tells the parent an event. */
export function tell(event: string, data: Json = null): void {
  process.send?.({ event, data })
}

async function answer(
  handlers: Readonly<Record<string, Handler>>,
  { id, call, args }: WorkerCall,
): Promise<void> {
  let reply: WorkerAnswer
  try {
    const handler = handlers[call]
    if (handler === undefined) throw new Error(`the worker has no handler ${call}`)
    reply = { id, value: await handler(...args) }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const { code } = error as { code?: unknown }
    const { name, message } = error
    reply = { id, error: typeof code === 'string' ? { name, message, code } : { name, message } }
  }
  process.send?.(reply)
}
