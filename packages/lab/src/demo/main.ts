/** `npm run demo`: reads the arguments, runs the demo, and sets the exit status. */

import { parseOptions, usage, UsageError } from './options.ts'
import type { DemoOptions } from './options.ts'

/** Holdfast did not keep its promise, or the run broke off. */
const FAILED = 1
const COULD_NOT_START = 2

// Whoever reads has heard enough, as in `npm run demo | head`.
process.stdout.on('error', () => process.exit(FAILED))

const options = readOptions()
if (options?.help === true) process.stdout.write(usage)
else if (options !== null) leave(await start(options))

/**
 * Ends the process when all is written. Left to end by itself after servers were killed, Node 20 was seen to spin for ever in the cleaning up
 * of its own handles.
 */
function leave(code: number): void {
  process.exitCode = code
  process.stdout.write('', () => process.exit())
}

function readOptions(): DemoOptions | null {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${usage}`)
    process.exitCode = COULD_NOT_START
    return null
  }
}

async function start(options: DemoOptions): Promise<number> {
  try {
    // Only now, so that a bad argument is told even where a driver cannot be loaded.
    const { runDemo } = await import('./demo.ts')
    return (await runDemo(options)) ? 0 : FAILED
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const couldNotStart = error.name === 'NoStoreError' || isLoadError(error)
    process.stderr.write(`${couldNotStart ? error.message : error.stack}\n`)
    return couldNotStart ? COULD_NOT_START : FAILED
  }
}

function isLoadError(error: Error & { code?: string }): boolean {
  return error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'ERR_DLOPEN_FAILED'
}
