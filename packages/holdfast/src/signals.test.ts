import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { InvalidArgumentError } from './errors.ts'
import { checkSignals, closeOnSignals } from './signals.ts'

/** Goal: a signal closes first, and then ends the process as it would have. Method: signals that are only emitted. */

const kill = vi.spyOn(process, 'kill').mockImplementation(() => true)
const stops: (() => void)[] = []

beforeEach(() => kill.mockClear())
afterAll(() => kill.mockRestore())

afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  expect(process.listenerCount('SIGUSR2')).toBe(0)
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Listens like `createHoldfast` does: closing ends the listening. */
function listening(signals: unknown, finish: Promise<void> = Promise.resolve()) {
  const closed: string[] = []
  const stop = closeOnSignals(checkSignals(signals), async () => {
    closed.push('closing')
    stop()
    await finish
    closed.push('closed')
  })
  stops.push(stop)
  return closed
}

describe('closeOn', () => {
  test('C12: closes, and only then sends itself the signal again', async () => {
    let finish = (): void => {}
    const closed = listening(['SIGUSR2'], new Promise((resolve) => (finish = resolve)))
    process.emit('SIGUSR2', 'SIGUSR2')
    await turn()
    expect(closed).toEqual(['closing'])
    expect(kill).not.toHaveBeenCalled()
    finish()
    await turn()
    expect(closed).toEqual(['closing', 'closed'])
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGUSR2']])
  })

  test('leaves the end to others who listen to the same signal', async () => {
    const other = vi.fn()
    process.on('SIGUSR2', other)
    const closed = listening(['SIGUSR2'])
    process.emit('SIGUSR2', 'SIGUSR2')
    await turn()
    expect(closed).toEqual(['closing', 'closed'])
    expect(other).toHaveBeenCalledTimes(1)
    expect(kill).not.toHaveBeenCalled()
    process.off('SIGUSR2', other)
  })

  test('of two instances the last one to close ends the process', async () => {
    let finish = (): void => {}
    listening(['SIGUSR2'])
    const last = listening(['SIGUSR2'], new Promise((resolve) => (finish = resolve)))
    process.emit('SIGUSR2', 'SIGUSR2')
    await turn()
    process.emit('SIGUSR2', 'SIGUSR2')
    await turn()
    expect(kill).not.toHaveBeenCalled()
    expect(last).toEqual(['closing'])
    finish()
    await turn()
    expect(kill).toHaveBeenCalledTimes(1)
    expect(process.listenerCount('SIGUSR2')).toBe(0)
  })

  test('listens once to a signal that is named twice, and to none when none is named', () => {
    listening(['SIGUSR2', 'SIGUSR2'])
    expect(process.listenerCount('SIGUSR2')).toBe(1)
    listening([])
    expect(process.listenerCount('SIGUSR2')).toBe(1)
  })

  test.each(['SIGTERM', ['SIGFOO'], [15], {}, null, undefined, ['SIGTERM', null], ['toString']])(
    '%j is no list of signals',
    (signals) => {
      expect(() => checkSignals(signals)).toThrow(InvalidArgumentError)
      expect(() => checkSignals(signals)).toThrow("as ['SIGTERM']")
    },
  )
})
