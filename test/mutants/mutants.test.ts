import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { applyMutant, mutationErrorPrefix } from '../../build/mutation.mjs'
import { cleanEnvironment, finish, type Finished } from '../commands.ts'
import { mutants } from './index.mjs'

/**
 * Goal: the tests would notice if the library broke in one of the ways that matter.
 * Method: the library is broken on purpose, one mutant at a time, while the test that must notice runs in a process
 * of its own. That test must run and fail. Without a mutant the same tests must run and pass.
 */

/** One mutant: starting Vitest, starting a server, and a test that may run into its own time limit. */
const MUTANT_MS = 200_000
/** All named tests in a row. */
const CONTROL_MS = 900_000

const root = fileURLToPath(new URL('../..', import.meta.url))
const table = Object.entries(mutants)
const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

interface Report {
  testResults: { assertionResults: { ancestorTitles: string[]; title: string; status: string }[] }[]
}

interface Outcome extends Finished {
  /** `failed`, `passed`, … or null when no test of that name was run. */
  statusOf(test: string): string | null
}

/** Runs the named tests of some files in a Vitest of their own. */
async function runTests(
  files: readonly string[],
  tests: readonly string[],
  mutant: string | undefined,
  timeoutMs: number,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'))
  const report = join(folder, 'report.json')
  // Vitest joins the titles with a space where people write `describe > test`.
  const names = `^\\s*(${tests.map((name) => escape(name.split(' > ').join(' '))).join('|')})$`
  const args = [
    'run',
    ...files,
    '-t',
    names,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]
  try {
    const env = cleanEnvironment(mutant === undefined ? {} : { HOLDFAST_MUTANT: mutant })
    const finished = await finish(join(root, 'node_modules/.bin/vitest'), args, { cwd: root, env, timeoutMs })
    const results = existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report).testResults : []
    const statuses = new Map(
      results
        .flatMap((file) => file.assertionResults)
        .map((result) => [[...result.ancestorTitles, result.title].join(' > '), result.status]),
    )
    return { ...finished, statusOf: (name) => statuses.get(name) ?? null }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('the table of mutants', () => {
  test('is not empty', () => expect(table).not.toEqual([]))

  test.each(table)('%s changes text that is there exactly once, and names a test', (name, mutant) => {
    const path = join(root, mutant.file)
    const text = readFileSync(path, 'utf8')
    expect(applyMutant(name, mutant, text)).not.toBe(text)
    const testFile = readFileSync(join(root, mutant.caughtBy.file), 'utf8')
    expect(testFile.length).toBeGreaterThan(0)
  })
})

test.runIf(process.env.HOLDFAST_WHOLE_RUN !== '1')(
  'without a mutant, every named test passes',
  async () => {
    const named = table.map(([, mutant]) => mutant.caughtBy)
    const files = [...new Set(named.map(({ file }) => file))]
    const tests = [...new Set(named.map((caughtBy) => caughtBy.test))]
    const outcome = await runTests(files, tests, undefined, CONTROL_MS - 20_000)
    const statuses = tests.map((name) => [name, outcome.statusOf(name)])
    const said = outcome.stdout + outcome.stderr
    expect(statuses, said).toEqual(tests.map((name) => [name, 'passed']))
  },
  CONTROL_MS,
)

/** A whole run takes a share of them, so that it stays within minutes; `npm run mutants` takes them all. */
const SHARE_OF_A_WHOLE_RUN = 20
const due =
  process.env.HOLDFAST_WHOLE_RUN === '1' ? table.filter((_, i) => i % SHARE_OF_A_WHOLE_RUN === 0) : table

describe.runIf(table.length > 0).concurrent('a mutant is caught', () => {
  test.each(due)(
    '%s',
    async (name, { caughtBy }) => {
      const outcome = await runTests([caughtBy.file], [caughtBy.test], name, MUTANT_MS - 20_000)
      const said = outcome.stdout + outcome.stderr
      expect(outcome.timedOut, `did not end in time\n${said}`).toBe(false)
      expect(said).not.toContain(mutationErrorPrefix(name))
      expect(outcome.statusOf(caughtBy.test), said).toBe('failed')
    },
    MUTANT_MS,
  )
})
