import { describe, expect, test, vi } from 'vitest'
import { LockLostError } from '../errors.ts'
import { LossSignal } from './loss-signal.ts'

/**
 * Goal: a signal that is read tells the truth of that very moment, and is an AbortSignal in everything else.
 * Method: a loss that nothing tells the signal of until it asks.
 */

function scene() {
  let isLost = false
  const lost = new LockLostError('a', 'expired')
  const loss: LossSignal = new LossSignal(() => {
    if (isLost) loss.abort(lost)
  })
  return { loss, signal: loss.signal, lost, lose: () => (isLost = true) }
}

describe('LossSignal', () => {
  test('is an AbortSignal that is not aborted', () => {
    const { signal } = scene()
    expect(signal).toBeInstanceOf(AbortSignal)
    expect([signal.aborted, signal.reason]).toEqual([false, undefined])
    signal.throwIfAborted()
  })

  test.each(['aborted', 'reason', 'throwIfAborted'] as const)(
    '`%s` finds out by itself, on the very line',
    (first) => {
      const { signal, lost, lose } = scene()
      lose()
      if (first === 'throwIfAborted') expect(() => signal.throwIfAborted()).toThrow(lost)
      else expect(signal[first]).toBe(first === 'aborted' ? true : lost)
      expect([signal.aborted, signal.reason]).toEqual([true, lost])
    },
  )

  test('tells its listeners once, who see it aborted', () => {
    const { loss, signal, lost, lose } = scene()
    const seen: unknown[] = []
    signal.addEventListener('abort', (event) => seen.push([event.target, signal.aborted, signal.reason]))
    signal.onabort = () => seen.push('onabort')
    lose()
    expect(signal.aborted).toBe(true)
    loss.abort(lost)
    loss.abort(new LockLostError('a', 'taken'))
    expect(seen).toEqual([[signal, true, lost], 'onabort'])
    expect(signal.reason).toBe(lost)
  })

  test('is told by the timer even if nobody reads it', () => {
    const { loss, signal, lost } = scene()
    const heard = vi.fn<() => void>()
    signal.addEventListener('abort', heard)
    loss.abort(lost)
    expect(heard).toHaveBeenCalledOnce()
  })

  test('works where signals are handed on: any, timers, fetch', async () => {
    const { loss, signal, lost } = scene()
    const { setTimeout: sleep } = await import('node:timers/promises')
    const any = AbortSignal.any([signal])
    const sleeping = sleep(60_000, null, { signal })
    const asking = fetch('data:text/plain,never', {
      signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]),
    })
    await (await asking).text()
    loss.abort(lost)
    expect([any.aborted, any.reason]).toEqual([true, lost])
    await expect(sleeping).rejects.toMatchObject({ code: 'ABORT_ERR', cause: lost })
    await expect(fetch('data:text/plain,never', { signal })).rejects.toBe(lost)
  })

  test('a check that goes wrong is not hidden', () => {
    const loss = new LossSignal(() => {
      throw new Error('the clock is broken')
    })
    expect(() => loss.signal.aborted).toThrow('the clock is broken')
  })
})
