import type { Database } from 'better-sqlite3'

/** Read, think, write: what somebody else wrote meanwhile is gone, and nobody is told. */
export async function overwriteDocument(
  database: Database,
  id: string,
  edit: (text: string) => string | Promise<string>,
): Promise<void> {
  const { text } = database.prepare('SELECT text FROM documents WHERE id = ?').get(id) as { text: string }
  database.prepare('UPDATE documents SET text = ? WHERE id = ?').run(await edit(text), id)
}
