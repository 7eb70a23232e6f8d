import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { owned, spawnWorker, waitFor } from '../../src/index.ts'
import type { Worker } from '../../src/index.ts'

interface Where {
  pid: number
  port: number
  dir: string
}

let parent: Worker | undefined

afterEach(() => parent?.kill())

/** A process that has started a server, and where that is. */
async function parentOfAServer(): Promise<{ parent: Worker; server: Where }> {
  parent = await spawnWorker(new URL('./support/starts-a-server.ts', import.meta.url))
  const server = await parent.call<Where>('where')
  expect(isAlive(server.pid)).toBe(true)
  return { parent, server }
}

/** A dead process may stay in the table for a while, until init has looked at it. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

async function expectGone(server: Where): Promise<void> {
  await waitFor(() => !isAlive(server.pid), { what: 'the server to go with its parent', within: 3_000 })
  await waitFor(() => !existsSync(server.dir), { what: 'its folder to go', within: 3_000 })
}

describe('a server goes with the process that started it', () => {
  test('when that is killed with -9', async () => {
    const { parent, server } = await parentOfAServer()
    await parent.kill()
    await expectGone(server)
  })

  test('when that is killed with -9 and the server stands still', async () => {
    const { parent, server } = await parentOfAServer()
    await parent.call('pauseServer')
    await parent.kill()
    await expectGone(server)
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'when that gets %s, whose status is kept',
    async (signal) => {
      const { parent, server } = await parentOfAServer()
      parent.signal(signal)
      expect(await parent.exited).toEqual({ code: null, signal })
      await expectGone(server)
    },
  )

  test('when that exits, and it is gone before its parent is', async () => {
    const { parent, server } = await parentOfAServer()
    await parent.call('exit', 7)
    expect(await parent.exited).toEqual({ code: 7, signal: null })
    await expectGone(server)
  })

  test('when that ends by an uncaught exception', async () => {
    const { parent, server } = await parentOfAServer()
    await parent.call('throwUncaught')
    expect(await parent.exited).toEqual({ code: 1, signal: null })
    expect(parent.stderr).toContain('uncaught on purpose')
    await expectGone(server)
  })
})

test('what has ended is not owned any more', async () => {
  await parentOfAServer()
  expect(owned().pids).toEqual([parent?.pid])
  await parent?.kill()
  expect(owned().pids).toEqual([])
})
