import { loadPostgresFence } from '../packages.ts'
import type { GuardKind } from './guard.ts'

/** Ours, by the column of the row, and told apart where nothing was changed. */
export const holdfastGuard: GuardKind = {
  role: 'ours',
  settings: 'pg, postgresFence().column(fence) in the UPDATE',
  async open(client) {
    const guard = (await loadPostgresFence())()
    return {
      async write(given) {
        const fence = guard.column(given)
        const result = await client.query(
          `UPDATE stock SET pieces = pieces - 1, ${fence.set} WHERE id = 1 AND ${fence.where}`,
        )
        const outcome = await fence.outcome(client, result, { table: 'stock', where: 'id = 1' })
        if (outcome !== 'written') throw new Error(`not written: ${outcome}`)
      },
    }
  },
}
