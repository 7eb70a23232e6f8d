import { describe, expect, test } from 'vitest'
import { waitFor } from '../../src/index.ts'

describe('waitFor', () => {
  test('resolves with the first truthy value', async () => {
    let looks = 0
    expect(await waitFor(() => ++looks > 2 && looks, { what: 'three looks' })).toBe(3)
  })

  test('rejects with what was waited for, and with the last error as the cause', async () => {
    const failing = () => {
      throw new Error('not there')
    }
    const failure = await waitFor(failing, { what: 'the moon', within: 20 }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ message: 'waited 20 ms for the moon', cause: { message: 'not there' } })
  })

  test('rejects in time when the condition itself hangs', async () => {
    const hanging = () => new Promise<boolean>(() => {})
    await expect(waitFor(hanging, { what: 'ever', within: 30 })).rejects.toThrow('waited 30 ms for ever')
  })
})
