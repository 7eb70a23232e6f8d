import { float, integer, ModelLacks, Refused, valueAt, word } from '../command.ts'
import type { CommandContext, CommandTable } from '../command.ts'
import type { Keyspace } from '../keyspace.ts'
import { floatOf, formatG } from '../numbers.ts'
import { ServerError, SYNTAX } from '../reply.ts'
import type { Answer } from '../reply.ts'
import { SortedSet } from '../sorted-set.ts'

type Member = SortedSet['members'][number]

/** Commands on sorted sets. */
export const sortedSets: CommandTable = {
  ZADD: { arity: -4, writes: true, needsMemory: true, run: add },
  ZREM: { arity: -3, writes: true, run: remove },
  ZSCORE: {
    arity: 3,
    run({ data }, args) {
      const score = setAt(data, args)?.score(word(args, 1))
      return score === undefined ? null : scoreText(score)
    },
  },
  ZCARD: { arity: 2, run: ({ data }, args) => setAt(data, args)?.size ?? 0 },
  ZCOUNT: {
    arity: 4,
    run({ data }, args) {
      const within = scoreRange(word(args, 1), word(args, 2))
      return membersAt(data, args).filter(within).length
    },
  },
  ZRANGEBYSCORE: { arity: -4, run: (context, args) => byScore(context, args, false) },
  ZREVRANGEBYSCORE: { arity: -4, run: (context, args) => byScore(context, args, true) },
  ZRANGE: { arity: -4, run: (context, args) => byIndex(context, args, false) },
  ZREVRANGE: { arity: -4, run: (context, args) => byIndex(context, args, true) },
}

/** Digits with which Redis 7.0 writes a score. */
const SCORE_DIGITS = 17
const scoreText = (score: number): string => formatG(score, SCORE_DIGITS)

const setAt = (data: Keyspace, args: readonly string[]): SortedSet | undefined =>
  valueAt(data, word(args, 0), SortedSet)

const membersAt = (data: Keyspace, args: readonly string[]): readonly Member[] =>
  setAt(data, args)?.members ?? []

function add({ data }: CommandContext, args: readonly string[]): Answer {
  const key = word(args, 0)
  const options = new Set<string>()
  let at = 1
  for (; ['NX', 'XX', 'GT', 'LT', 'CH', 'INCR'].includes(args[at]?.toUpperCase() ?? ''); at++)
    options.add(word(args, at).toUpperCase())
  if (options.has('INCR')) throw new ModelLacks('the option INCR of ZADD')
  if (options.size - Number(options.has('CH')) > 1) throw new ModelLacks('several conditions of one ZADD')
  const pairs = args.slice(at)
  if (pairs.length === 0 || pairs.length % 2 !== 0) return SYNTAX
  const scores = pairs.filter((_, i) => i % 2 === 0).map(float)
  const set = setAt(data, args) ?? new SortedSet()
  let added = 0
  let changed = 0
  for (const [i, score] of scores.entries()) {
    const name = word(pairs, 2 * i + 1)
    const before = set.score(name)
    if (!mayScore(options, before, score) || before === score) continue
    set.set(name, score)
    changed += 1
    if (before === undefined) added += 1
  }
  if (changed > 0) data.update(key, set)
  return options.has('CH') ? changed : added
}

function mayScore(options: ReadonlySet<string>, before: number | undefined, score: number): boolean {
  if (before === undefined) return !options.has('XX')
  if (options.has('NX')) return false
  return !(options.has('GT') && score <= before) && !(options.has('LT') && score >= before)
}

function remove({ data }: CommandContext, args: readonly string[]): Answer {
  const set = setAt(data, args)
  if (set === undefined) return 0
  const removed = args.slice(1).filter((name) => set.delete(name)).length
  if (set.size === 0) data.delete(word(args, 0))
  else if (removed > 0) data.update(word(args, 0), set)
  return removed
}

/** Whether a member's score lies between two ends, as in `1`, `(1`, `-inf`. */
function scoreRange(lowest: string, highest: string): (member: Member) => boolean {
  const [low, high] = [end(lowest), end(highest)]
  return ({ score }) =>
    (low.open ? score > low.score : score >= low.score) &&
    (high.open ? score < high.score : score <= high.score)
}

function end(text: string): { readonly score: number; readonly open: boolean } {
  const open = text.startsWith('(')
  const score = floatOf(open ? text.slice(1) : text)
  if (score === null) throw new Refused(new ServerError('ERR min or max is not a float'))
  return { score, open }
}

function byScore({ data }: CommandContext, args: readonly string[], reversed: boolean): Answer {
  const [first, second] = [word(args, 1), word(args, 2)]
  const within = reversed ? scoreRange(second, first) : scoreRange(first, second)
  let withScores = false
  let offset = 0
  let most = -1
  for (let i = 3; i < args.length; i++) {
    const option = word(args, i).toUpperCase()
    if (option === 'WITHSCORES') withScores = true
    else if (option === 'LIMIT') {
      offset = integer(word(args, i + 1))
      most = integer(word(args, i + 2))
      i += 2
    } else return SYNTAX
  }
  const found = membersAt(data, args).filter(within)
  if (reversed) found.reverse()
  if (offset < 0) return []
  return listed(most < 0 ? found.slice(offset) : found.slice(offset, offset + most), withScores)
}

function byIndex({ data }: CommandContext, args: readonly string[], reversed: boolean): Answer {
  let withScores = false
  for (const option of args.slice(3)) {
    if (option.toUpperCase() !== 'WITHSCORES') throw new ModelLacks(`the option ${option} of ZRANGE`)
    withScores = true
  }
  const members = [...membersAt(data, args)]
  if (reversed) members.reverse()
  const [first, last] = [integer(args[1]), integer(args[2])]
  const from = first < 0 ? Math.max(0, members.length + first) : first
  const to = last < 0 ? members.length + last : last
  return listed(members.slice(from, Math.max(from, to + 1)), withScores)
}

const listed = (members: readonly Member[], withScores: boolean): Answer =>
  members.flatMap(({ name, score }) => (withScores ? [name, scoreText(score)] : [name]))
