import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startProcess, waitFor, type OwnedProcess } from '../../src/index.ts'

/** Starts programs of the examples as a user would, and reads what their READMEs say. */

const LOADER = new URL('../../../../build/register.mjs', import.meta.url).href

/** A program of an example that listens. */
export interface Instance {
  readonly url: string
  readonly process: OwnedProcess
}

export const exampleFolder = (name: string) => new URL(`../../../../examples/${name}/`, import.meta.url)

/** @param env what it finds beside this process's own environment; it listens on any port */
export async function startInstance(
  example: string,
  program: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Instance> {
  const path = fileURLToPath(new URL(program, exampleFolder(example)))
  const process_ = await startProcess(process.execPath, ['--import', LOADER, path, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', PORT: '0', ...env },
  })
  const url = await waitFor(
    () => (process_.running ? /^Listening on (\S+)$/m.exec(process_.stdout)?.[1] : 'ended'),
    { what: () => `${program} to listen: ${process_.stderr}`, within: 30_000 },
  )
  if (url === 'ended') throw new Error(`${program} ended: ${process_.stderr}`)
  return { url, process: process_ }
}

/** The programs that the README of an example names in its table, and those that are there. */
export function programsOf(example: string): { named: string[]; there: string[] } {
  const readme = readFileSync(new URL('README.md', exampleFolder(example)), 'utf8')
  const named = [...readme.matchAll(/^\| `([\w-]+\.\w+)`/gm)].map(([, file]) => file as string)
  const there = readdirSync(exampleFolder(example)).filter((file) => file !== 'README.md')
  return { named: named.toSorted(), there: there.toSorted() }
}

/** Sends JSON, and reads what comes back as such where it is. */
export async function sendJson(
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const init =
    body === undefined
      ? { headers }
      : {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        }
  const response = await fetch(url, init)
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}
