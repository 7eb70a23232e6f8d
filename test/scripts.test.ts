import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { cleanEnvironment, HANGS_MS, succeed } from './commands.ts'

/** Goal: what `npm test` and `npm run demo` start is gone when they are, however they end. */

const root = fileURLToPath(new URL('..', import.meta.url))
const runModule = pathToFileURL(join(root, 'scripts/bootstrap/run.mjs')).href

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-scripts-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A command that leaves a child of its own behind: tells its pid, then does `then`. */
function commandThatSpawns(then: string): string {
  const path = join(folder, 'command.mjs')
  writeFileSync(
    path,
    `import { spawn } from 'node:child_process'
     const stray = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'inherit' })
     console.log(stray.pid)
     ${then}`,
  )
  return path
}

/** A script of ours that runs the command by way of run.mjs. */
function scriptThatRuns(command: string, output: 'keep' | 'show'): string {
  const path = join(folder, 'script.mjs')
  writeFileSync(
    path,
    `import { endWithChildren, run } from ${JSON.stringify(runModule)}
     endWithChildren()
     const { code, output } = await run(process.execPath, [${JSON.stringify(command)}], { output: '${output}' })
     console.log('ended', code, output)`,
  )
  return path
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // Where nobody collects orphans, an ended process stays listed as a zombie.
    const stat = existsSync('/proc/self/stat') ? readFileSync(`/proc/${pid}/stat`, 'latin1') : ''
    return !/\) Z /.test(stat)
  } catch {
    return false
  }
}

describe('a command that a script runs', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'ends with its children on %s',
    async (signal) => {
      const script = scriptThatRuns(commandThatSpawns('setTimeout(() => {}, 60_000)'), 'show')
      const child = spawn(process.execPath, [script], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: cleanEnvironment(),
      })
      let said = ''
      child.stdout.on('data', (text: Buffer) => (said += text.toString()))
      await vi.waitFor(() => expect(said).toMatch(/^\d+\n/), 60_000)
      const stray = Number.parseInt(said)
      expect(isAlive(stray)).toBe(true)
      const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
      child.kill(signal)
      expect(await ended).toBe({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGKILL: null }[signal])
      await vi.waitFor(() => expect(isAlive(stray)).toBe(false), 15_000)
    },
  )

  test('leaves nothing behind when it crashes, and tells its exit code and output', async () => {
    const script = scriptThatRuns(commandThatSpawns('process.exit(3)'), 'keep')
    const { stdout } = await succeed('node', [script], { cwd: folder, timeoutMs: HANGS_MS })
    const [, code, stray] = /^ended (\d+) (\d+)\n/.exec(stdout) ?? []
    expect(code).toBe('3')
    await vi.waitFor(() => expect(isAlive(Number(stray))).toBe(false), 15_000)
  })

  test('that is not there ends with 127', async () => {
    const { stdout } = await succeed(
      'node',
      [
        '-e',
        `import(${JSON.stringify(runModule)})
          .then(({ run }) => run('no-such-program', [], { output: 'keep' }))
          .then(({ code, output }) => console.log(code, output))`,
      ],
      { cwd: folder, timeoutMs: HANGS_MS },
    )
    expect(stdout).toMatch(/^127 no-such-program: /)
  })
})
