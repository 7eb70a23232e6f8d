import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'

/** Others were quicker, again and again. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
}

interface Row {
  readonly text: string
  readonly version: number
}

/**
 * A version column: read, think as long as you like, and write only if nobody has written meanwhile; else do it again. For edits
 * whose new value takes more than a statement to find, where collisions are rare.
 *
 * Under many writers most tries are for nothing: then take a lock (`with-lock.ts`). `edit` may run several times, so it must do nothing
 * but compute.
 *
 * @throws ConflictError after so many tries
 */
export async function editDocument(
  database: Database,
  id: string,
  edit: (text: string) => string | Promise<string>,
  tries = 30,
): Promise<void> {
  const read = database.prepare('SELECT text, version FROM documents WHERE id = ?')
  const write = database.prepare(
    'UPDATE documents SET text = ?, version = version + 1 WHERE id = ? AND version = ?',
  )
  for (let n = 1; n <= tries; n += 1) {
    const { text, version } = read.get(id) as Row
    if (write.run(await edit(text), id, version).changes === 1) return
    // By chance, and longer each time: those who collided do not collide again.
    await sleep(Math.random() * Math.min(100, 5 * n))
  }
  throw new ConflictError(`document ${id} was changed by others ${tries} times`)
}
