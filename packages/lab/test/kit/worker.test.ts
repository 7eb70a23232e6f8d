import { afterEach, describe, expect, test } from 'vitest'
import { sleep, spawnWorker } from '../../src/index.ts'
import type { Worker, WorkerOptions } from '../../src/index.ts'

let worker: Worker

afterEach(() => worker?.kill())

async function start(name: string, options?: WorkerOptions): Promise<Worker> {
  worker = await spawnWorker(new URL(`./support/${name}`, import.meta.url), options)
  return worker
}

describe('a worker', () => {
  test('answers calls, also several at once', async () => {
    await start('echo-worker.ts', { args: ['one', 'two'], env: { KIT_TEST: 'set' } })
    expect(await worker.call('echo', 1, 'é', { deep: [null, true] })).toEqual([
      1,
      'é',
      { deep: [null, true] },
    ])
    expect(await Promise.all([worker.call('later', 'slow'), worker.call('echo', 'fast')])).toEqual([
      'slow',
      ['fast'],
    ])
    expect(await worker.call('argv')).toEqual(['one', 'two'])
    expect(await worker.call('environment', 'KIT_TEST')).toBe('set')
  })

  test('answers with the error of its handler', async () => {
    await start('echo-worker.ts')
    await expect(worker.call('fail')).rejects.toMatchObject({
      name: 'TypeError',
      message: 'as asked',
      code: 'AS_ASKED',
    })
    await expect(worker.call('unknown')).rejects.toThrow('no handler unknown')
  })

  test('tells events, each handed out once and in order', async () => {
    await start('echo-worker.ts')
    await worker.call('tell', 'seen', 1)
    await worker.call('tell', 'other', 'x')
    await worker.call('tell', 'seen', 2)
    expect(await worker.next('seen')).toBe(1)
    expect(await worker.next('seen')).toBe(2)
    const third = worker.next('seen')
    await worker.call('tell', 'seen', 3)
    expect(await third).toBe(3)
    expect(worker.events.map(({ event }) => event)).toEqual(['ready', 'seen', 'other', 'seen', 'seen'])
    await expect(worker.next('seen', { within: 30 })).rejects.toThrow('event seen of worker echo-worker.ts')
  })

  test('stands still while stopped, and goes on', async () => {
    await start('echo-worker.ts')
    await worker.stop()
    let answered = false
    const late = worker.call<number>('ticks').then((ticks) => {
      answered = true
      return ticks
    })
    await sleep(200)
    expect(answered).toBe(false)
    worker.continue()
    expect(await late).toBeTypeOf('number')
  })

  test('is killed, also while stopped; waiting calls reject', async () => {
    await start('echo-worker.ts')
    const waiting = worker.call('never')
    const failure = expect(waiting).rejects.toThrow(/ended \(SIGKILL\) before it answered/)
    await worker.stop()
    expect(await worker.kill()).toEqual({ code: null, signal: 'SIGKILL' })
    await failure
    expect(worker.running).toBe(false)
    await expect(worker.call('echo')).rejects.toThrow('has ended')
  })

  test('has its stderr captured', async () => {
    await start('echo-worker.ts')
    await worker.call('complain', 'it hurts')
    await worker.end()
    expect(worker.stderr).toContain('it hurts')
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' })
  })

  test('that fails before it is ready says why', async () => {
    await expect(start('fails-at-once.ts')).rejects.toThrow(/it ended \(status 1\).*broken on purpose/s)
    await expect(start('no-such-file.ts')).rejects.toThrow('there is no worker file')
  })

  test('that is a plain script ends by itself', async () => {
    await start('plain-script.ts', { ready: false })
    expect(await worker.exitedWithin(10_000)).toEqual({ code: 3, signal: null })
    expect(worker.stdout).toBe('hello from a script\n')
  })
})
