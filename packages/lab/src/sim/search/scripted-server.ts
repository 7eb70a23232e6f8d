import { ServerError, type Reply } from '../server/reply.ts'
import { ScriptCache } from '../server/lua/script-cache.ts'
import { ModelServer } from '../server/model-server.ts'

/** What lies in a server: key, text, and when it expires (milliseconds). In the order of keys. */
export type Data = readonly (readonly [key: string, text: string, expires: number | null])[]

/** A script as the library ships it, or with one of its rules taken out. */
export interface Script {
  readonly source: string
}

/**
 * Runs shipped scripts on data that are handed in, and hands out what is there afterwards: the same every time, so that each
 * answer is worked out once.
 */
export class ScriptedServer {
  readonly #server = new ModelServer({ scripts: new ScriptCache() })
  readonly #answers = new Map<string, { readonly data: Data; readonly reply: Reply }>()

  /** @param micros the server's time */
  run(
    { source }: Script,
    call: { readonly keys: readonly string[]; readonly args: readonly string[] },
    at: { readonly data: Data; readonly micros: number },
  ): { readonly data: Data; readonly reply: Reply } {
    const { keys, args } = call
    const id = JSON.stringify([source.length, keys, args, at])
    const known = this.#answers.get(id)
    if (known !== undefined) return known
    const server = this.#server
    server.flush()
    for (const [key, text, expires] of at.data)
      server.execute(['SET', key, text, ...(expires === null ? [] : ['PXAT', String(expires)])], at.micros)
    const reply = server.execute(['EVAL', source, String(keys.length), ...keys, ...args], at.micros)
    if (reply instanceof ServerError) throw new Error(`a script failed: ${reply.message}`)
    const answer = { reply, data: this.#dataAt(at.micros) }
    this.#answers.set(id, answer)
    return answer
  }

  #dataAt(micros: number): Data {
    const keys = this.#server.keys(micros).sort()
    return keys.flatMap((key) => {
      const entry = this.#server.entry(key, micros)
      return entry !== undefined && typeof entry.value === 'string'
        ? [[key, entry.value, entry.expires] as const]
        : []
    })
  }
}

/** What is still there at some time. */
export function livingAt(data: Data, millis: number): Data {
  return data.filter(([, , expires]) => expires === null || expires >= millis)
}

export function textAt(data: Data, key: string): string | null {
  return data.find(([each]) => each === key)?.[1] ?? null
}

/**
 * A script with one of its rules taken out.
 *
 * @throws Error when the text is not there exactly once: then the script has changed
 */
export function without({ source }: Script, text: string, replacement = ''): Script {
  const parts = source.split(text)
  if (parts.length !== 2)
    throw new Error(`${JSON.stringify(text)} is ${parts.length - 1} times in the script`)
  return { source: parts.join(replacement) }
}
