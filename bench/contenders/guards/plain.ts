import type { GuardKind } from './guard.ts'

/** The floor: the same write, by nobody's leave. */
export const plainUpdate: GuardKind = {
  role: 'floor',
  settings: 'pg, one UPDATE without a fence',
  async open(client) {
    return {
      async write() {
        const { rowCount } = await client.query('UPDATE stock SET pieces = pieces - 1 WHERE id = 1')
        if (rowCount !== 1) throw new Error('the row is not there')
      },
    }
  },
}
