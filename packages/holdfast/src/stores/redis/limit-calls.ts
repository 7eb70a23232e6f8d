import type { LimitAddress } from '../../name.ts'
import type { Policy } from '../../store/limit/policy.ts'
import type { CallItem, CallKind, Script } from './call-kind.ts'
import type { CountItem } from './limit-items.ts'
import type { FirstCall, RecentCalls } from './limit-recent.ts'
import { NOT_PLAIN, plainRule, rulesText, usageSuffix } from './limit-rules.ts'
import blockScript from './lua/limit-block.lua'
import countScript from './lua/limit-count.lua'
import peekScript from './lua/limit-peek.lua'
import recountScript from './lua/limit-recount.lua'
import renewScript from './lua/limit-renew.lua'
import resetScript from './lua/limit-reset.lua'

/** Sets of policies that are kept. Beyond it the oldest are made anew when they are needed again. */
const MAX_POLICY_SETS = 1_000

/** Within a turn: resets, then what counts, then what only looks. */
const ORDER = { reset: 0, renew: 1, count: 2, peek: 3 } as const

/** The calls about subjects under one set of policies: items of one object travel together. */
export class PolicyCalls {
  readonly #suffixes: readonly string[]
  readonly count: CallKind
  readonly countWithDenied: CallKind
  readonly recount: CallKind
  readonly recountWithDenied: CallKind
  readonly peek: CallKind
  readonly renew: CallKind
  readonly reset: CallKind

  constructor(prefix: string, policies: readonly Policy[], recent: RecentCalls, inCluster: boolean) {
    const replyKeys = inCluster ? replyBesideSubject : replyUnder(prefix)
    const rules = rulesText(policies, false)
    const rulesWithDenied = rulesText(policies, true)
    this.#suffixes = policies.map(usageSuffix)
    this.count = countKind(replyKeys, [rules, ...plainRule(policies)], recent)
    this.countWithDenied = countKind(replyKeys, [rulesWithDenied, ...NOT_PLAIN], recent)
    this.recount = { ...kind(recountScript, ORDER.count, [rules]), expires: 'by-item' }
    this.recountWithDenied = { ...kind(recountScript, ORDER.count, [rulesWithDenied]), expires: 'by-item' }
    this.peek = kind(peekScript, ORDER.peek, [rules])
    this.renew = { ...kind(renewScript, ORDER.renew, [rules]), expires: 'by-item' }
    this.reset = kind(resetScript, ORDER.reset, [String(policies.length)])
  }

  /** All keys of a subject: its own, and one for each policy. */
  keysOf({ key }: LimitAddress): readonly string[] {
    const keys = [key]
    for (const suffix of this.#suffixes) keys.push(key + suffix)
    return keys
  }
}

export const blockKind: CallKind = { script: blockScript, order: ORDER.reset, keys: [], args: [] }

/** Keeps the calls of every set of policies: by the very object, since a limiter hands over the same, and by its content. */
export class PolicyCallsCache {
  readonly #byObject = new WeakMap<readonly Policy[], Map<string, PolicyCalls>>()
  readonly #byContent = new Map<string, PolicyCalls>()
  readonly #recent: RecentCalls

  readonly #inCluster: boolean

  constructor(recent: RecentCalls, inCluster: boolean) {
    this.#recent = recent
    this.#inCluster = inCluster
  }

  of({ prefix }: LimitAddress, policies: readonly Policy[]): PolicyCalls {
    let byPrefix = this.#byObject.get(policies)
    if (byPrefix === undefined) this.#byObject.set(policies, (byPrefix = new Map<string, PolicyCalls>()))
    let calls = byPrefix.get(prefix)
    if (calls === undefined) byPrefix.set(prefix, (calls = this.#sameContent(prefix, policies)))
    return calls
  }

  #sameContent(prefix: string, policies: readonly Policy[]): PolicyCalls {
    const content = JSON.stringify([prefix, policies])
    const known = this.#byContent.get(content)
    if (known !== undefined) return known
    if (this.#byContent.size >= MAX_POLICY_SETS) {
      for (const oldest of this.#byContent.keys()) {
        this.#byContent.delete(oldest)
        break
      }
    }
    const calls = new PolicyCalls(prefix, policies, this.#recent, this.#inCluster)
    this.#byContent.set(content, calls)
    return calls
  }
}

function kind(script: Script, order: number, args: readonly string[]): CallKind {
  return { script, order, keys: [], args }
}

/** Where the reply of a call is kept. */
type ReplyKeys = (id: string, items: readonly CallItem[]) => string

const replyUnder =
  (prefix: string): ReplyKeys =>
  (id) =>
    `${prefix}:{limits}:reply:${id}`

/** In a cluster it must lie in the slot of the call's subjects. A subject's key ends with `:limit`. */
const replyBesideSubject: ReplyKeys = (id, [item]) =>
  `${(item?.keys[0] ?? '').replace(/:limit$/, '')}:reply:${id}`

/** A call that counts has a key of its own for its reply, and its items remember where they went. */
function countKind(replyKeys: ReplyKeys, rules: readonly string[], recent: RecentCalls): CallKind {
  return {
    ...kind(countScript, ORDER.count, []),
    expires: 'by-call',
    forCall(id, items) {
      const counts = items as readonly CountItem<unknown>[]
      const { replyKey, keepFor } = sameCall(counts) ?? recent.sent(counts, replyKeys(id, items))
      return { keys: [replyKey], args: [...rules, String(keepFor)] }
    },
  }
}

/**
 * The call in which the very same items went before: the script was not known then, and goes again as a whole. Should the
 * earlier one have been done after all, its reply is found.
 */
function sameCall(items: readonly CountItem<unknown>[]): FirstCall | null {
  const call = items[0]?.call ?? null
  const same = call?.ids.length === items.length && items.every((item) => item.call === call)
  return same ? call : null
}
