import type { LuaValue } from './values.ts'

/** How Redis names a script in messages; what is made of its text goes by this name in the engine, too. */
export const CHUNK = 'user_script'
/** The function that calls for `pcall`: what it calls itself has no place in a script. */
export const PROTECTED_CALL = 'protectedCall'
/** Deeper than any script of ours. */
const MOST_FRAMES = 60

/** An error of a script, which it may catch. */
export class LuaError {
  readonly value: LuaValue
  /** The line of the script that was running; 0 when none was. */
  readonly line: number

  constructor(value: LuaValue, { line } = place()) {
    this.value = value
    this.line = line
  }
}

/** Ends the running function with an error that says where. */
export function raise(message: string): never {
  const at = place()
  throw new LuaError(at.prefix + message, at)
}

/**
 * Where the script is: what is made of it has the same lines, so that the engine knows. Asked only when something fails.
 *
 * @returns the line, and what a message begins with: nothing where `pcall` itself called what fails
 */
export function place(): { readonly line: number; readonly prefix: string } {
  let isDirect = true
  for (const site of callSites()) {
    if (site.getFunctionName() === PROTECTED_CALL) isDirect = false
    if (site.getScriptNameOrSourceURL() !== CHUNK) continue
    const line = site.getLineNumber() ?? 0
    return { line, prefix: isDirect ? `${CHUNK}:${line}: ` : '' }
  }
  return { line: 0, prefix: '' }
}

function callSites(): readonly NodeJS.CallSite[] {
  const before = { prepareStackTrace: Reflect.get(Error, 'prepareStackTrace'), limit: Error.stackTraceLimit }
  Error.stackTraceLimit = MOST_FRAMES
  Error.prepareStackTrace = (_, sites) => sites
  try {
    const holder: { stack?: readonly NodeJS.CallSite[] } = {}
    Error.captureStackTrace(holder, callSites)
    return holder.stack ?? []
  } finally {
    Error.prepareStackTrace = before.prepareStackTrace
    Error.stackTraceLimit = before.limit
  }
}
