import { spawn } from 'node:child_process'

/** What a finished command said. */
export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The command ran longer than it was given and was killed. */
  readonly timedOut: boolean
}

/** How long a command may take to end when its time is over, in milliseconds, before it is killed. */
const GRACE_MS = 5_000

/** After so long a command hangs: many times what any of them takes, on a busy machine too. */
export const HANGS_MS = 300_000

/**
 * Runs a command to its end, or ends it when its time is over. It stays in our process group, so that Ctrl-C reaches
 * it too. It never rejects because of how the command ended: that is for the caller to judge.
 */
export function finish(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; timeoutMs: number },
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    let timedOut = false
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const soft = setTimeout(() => {
      timedOut = true
      child.kill('SIGTERM')
    }, options.timeoutMs)
    const hard = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs + GRACE_MS)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(soft)
      clearTimeout(hard)
      resolve({ code, stdout, stderr, timedOut })
    })
  })
}

/** As {@link finish}, and throws with everything it said when the command did not end well. */
export async function succeed(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; timeoutMs: number },
): Promise<Finished> {
  const finished = await finish(command, args, options)
  if (finished.code !== 0) {
    const how = finished.timedOut ? `ran longer than ${options.timeoutMs} ms` : `ended with ${finished.code}`
    throw new Error(`${command} ${args.join(' ')} ${how}\n${finished.stdout}\n${finished.stderr}`)
  }
  return finished
}

/** The environment without what npm and Vitest added for this process, which would steer a nested npm or Vitest. */
export function cleanEnvironment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const foreign =
    /^(FORCE_COLOR$|VITEST|VITE_|TEST$|NODE_ENV$|NODE_OPTIONS$|npm_(package|lifecycle|command|execpath|node_execpath)|npm_config_local_prefix)/
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return { ...Object.fromEntries(kept), NO_COLOR: '1', ...extra }
}
