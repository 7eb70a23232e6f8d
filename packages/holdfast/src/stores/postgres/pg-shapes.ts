import { firstColumn } from './first-column.ts'

/** What we use of a connection of pg, by itself or out of a pool. */
export interface PgClientLike {
  query(text: string): Promise<unknown>
  end(): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: PgNotification) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'notification', listener: (message: PgNotification) => void): unknown
}

/** What came over a channel. */
export interface PgNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** What we use of a pool of pg. */
export interface PgPoolLike {
  readonly options: object
  readonly ended: boolean
  readonly totalCount: number
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** A pool's own class of connections, of which we make one to listen on. */
export type PgClientClass = new (options: object) => PgClientLike & {
  connect(): Promise<unknown>
  unref?(): void
  readonly connection?: { readonly stream?: { destroy?(): unknown } }
  on(event: 'end', listener: () => void): unknown
}

export function isPgPool(client: object): client is PgPoolLike {
  return 'totalCount' in client && 'connect' in client && 'query' in client && 'options' in client
}

export function isPgClient(client: object): client is PgClientLike {
  return 'connectionParameters' in client && 'query' in client && typeof client.query === 'function'
}

/** Sends statements in one message; the text in the first column of the last row of each that brought one. */
export async function sendToPg(client: PgClientLike, statements: string): Promise<readonly string[]> {
  return textsOf(await client.query(statements))
}

/** The first column of the last row that a message brought. */
export function textOf(results: unknown): string {
  return textsOf(results).at(-1) ?? ''
}

function textsOf(results: unknown): readonly string[] {
  const all = (Array.isArray(results) ? results : [results]) as { rows?: unknown[] }[]
  return all.flatMap(({ rows = [] }) => (rows.length === 0 ? [] : [firstColumn(rows.at(-1))]))
}
