import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { PgPoolLike } from './pg-shapes.ts'
import { PgClientPort, PgPoolPort } from './pg.ts'

/** Goal: no listener stays behind with a client that goes on, and one that is ended by us cannot end the process. */

class PretendedClient extends EventEmitter {
  fails = false
  released: unknown[] = []

  query(): Promise<unknown> {
    return this.fails ? Promise.reject(new Error('no connection')) : Promise.resolve({ rows: [] })
  }

  end(): Promise<void> {
    return Promise.resolve()
  }

  release(broken: unknown): void {
    this.released.push(broken)
  }
}

const never = { given: false, onGiven: () => undefined }

describe('one connection', () => {
  test('has as many listeners after transactions that failed, or were given up, as before', async () => {
    const client = new PretendedClient()
    const port = new PgClientPort(client)
    const before = client.listenerCount('error')
    for (const how of ['commit', 'rollback', 'destroy'] as const) {
      client.fails = false
      const transaction = await port.begin('SELECT 1', never)
      client.fails = true
      if (how === 'destroy') transaction.destroy()
      else await transaction[how]('SELECT 2').catch(() => undefined)
    }
    await port.begin('SELECT 1', never).catch(() => undefined)
    expect(client.listenerCount('error')).toBe(before)
    port.detach()
    expect(client.listenerCount('error')).toBe(0)
  })
})

describe('a connection of a pool', () => {
  test('that broke is given back as broken, and what it says later is heard', async () => {
    const client = new PretendedClient()
    const pool = Object.assign(new EventEmitter(), { connect: () => Promise.resolve(client) })
    const port = new PgPoolPort(pool as unknown as PgPoolLike, new VirtualClock())
    const transaction = await port.begin('SELECT 1', never)
    transaction.destroy()
    expect(client.released).toEqual([true])
    expect(() => client.emit('error', new Error('ended'))).not.toThrow()
  })

  test('that is well keeps no listener', async () => {
    const client = new PretendedClient()
    const pool = Object.assign(new EventEmitter(), { connect: () => Promise.resolve(client) })
    const port = new PgPoolPort(pool as unknown as PgPoolLike, new VirtualClock())
    await (await port.begin('SELECT 1', never)).commit('SELECT 2')
    expect(client.released).toEqual([false])
    expect(client.listenerCount('error')).toBe(0)
  })
})
