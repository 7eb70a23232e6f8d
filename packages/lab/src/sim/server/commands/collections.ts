import { integer, valueAt, word } from '../command.ts'
import type { CommandContext, CommandTable } from '../command.ts'
import type { Answer } from '../reply.ts'

/** The few commands on hashes, lists and sets that are needed: mostly to put something else where a string should lie. */
export const collections: CommandTable = {
  HSET: { arity: -4, writes: true, needsMemory: true, run: hashSet },
  HGET: {
    arity: 3,
    run: ({ data }, args) => valueAt(data, word(args, 0), Map<string, string>)?.get(word(args, 1)) ?? null,
  },
  HDEL: { arity: -3, writes: true, run: hashDelete },
  HLEN: { arity: 2, run: ({ data }, args) => valueAt(data, word(args, 0), Map<string, string>)?.size ?? 0 },
  RPUSH: { arity: -3, writes: true, needsMemory: true, run: push },
  LRANGE: { arity: 4, run: range },
  LLEN: { arity: 2, run: ({ data }, args) => valueAt(data, word(args, 0), Array<string>)?.length ?? 0 },
  SADD: { arity: -3, writes: true, needsMemory: true, run: add },
  SCARD: { arity: 2, run: ({ data }, args) => valueAt(data, word(args, 0), Set<string>)?.size ?? 0 },
}

function hashSet({ data }: CommandContext, args: readonly string[]): Answer {
  const hash = valueAt(data, word(args, 0), Map<string, string>) ?? new Map<string, string>()
  const before = hash.size
  for (let i = 1; i < args.length; i += 2) hash.set(word(args, i), word(args, i + 1))
  data.update(word(args, 0), hash)
  return hash.size - before
}

function hashDelete({ data }: CommandContext, args: readonly string[]): Answer {
  const hash = valueAt(data, word(args, 0), Map<string, string>)
  if (hash === undefined) return 0
  const deleted = args.slice(1).filter((field) => hash.delete(field)).length
  if (hash.size === 0) data.delete(word(args, 0))
  else if (deleted > 0) data.update(word(args, 0), hash)
  return deleted
}

function push({ data }: CommandContext, args: readonly string[]): Answer {
  const list = valueAt(data, word(args, 0), Array<string>) ?? []
  list.push(...args.slice(1))
  data.update(word(args, 0), list)
  return list.length
}

function range({ data }: CommandContext, args: readonly string[]): Answer {
  const list = valueAt(data, word(args, 0), Array<string>) ?? []
  const [first, last] = [integer(args[1]), integer(args[2])]
  const from = first < 0 ? Math.max(0, list.length + first) : first
  const to = last < 0 ? list.length + last : last
  return list.slice(from, Math.max(from, to + 1))
}

function add({ data }: CommandContext, args: readonly string[]): Answer {
  const set = valueAt(data, word(args, 0), Set<string>) ?? new Set<string>()
  const before = set.size
  for (const member of args.slice(1)) set.add(member)
  data.update(word(args, 0), set)
  return set.size - before
}
