import type { Database } from 'better-sqlite3'
import type { Holdfast } from 'holdfast'

/**
 * The same edit under a lock: one at a time, each runs once, others wait. For many writers of one row, for work that must not be done
 * for nothing (a call that costs money), and for what no database can undo.
 *
 * The fence in the UPDATE is what the version column was: it holds when the lock does not.
 */
export async function editAlone(
  holdfast: Holdfast,
  database: Database,
  id: string,
  edit: (text: string) => string | Promise<string>,
): Promise<void> {
  await holdfast.lock(`document:${id}`, { wait: '30s' }).run(async ({ fence }) => {
    const { text } = database.prepare('SELECT text FROM documents WHERE id = ?').get(id) as { text: string }
    const write = database.prepare('UPDATE documents SET text = ?, fence = ? WHERE id = ? AND fence <= ?')
    if (write.run(await edit(text), fence, id, fence).changes === 0)
      throw new Error('a later holder has written')
  })
}
