import type { Change } from './algorithm.ts'
import type {
  AdjustAsk,
  BlockAsk,
  PeekAsk,
  PolicyVerdict,
  RenewSlotAsk,
  TakeAsk,
  Verdict,
} from './contract.ts'
import { Standing, type AnyUsage } from './decide.ts'
import { spanOf, type Policy, type PolicyKind } from './policy.ts'

/** All that is kept of one subject of a limiter: a value that never changes. */
export interface Subject {
  readonly usages: readonly UsageRecord[]
  readonly block: Block | null
  readonly reservations: readonly Reservation[]
}

/** What was used under one policy. */
export interface UsageRecord {
  readonly name: string
  readonly kind: PolicyKind
  readonly usage: AnyUsage
  /** From then on nothing of it counts. */
  readonly expires: number
}

export interface Block {
  readonly until: number
  readonly duration: number
}

/** A take that is given back by itself unless it is settled before `end`. */
export interface Reservation {
  readonly take: string
  readonly at: number
  /** What still counts of it: 0 once it was given back. */
  readonly cost: number
  readonly end: number
  /** From take to end. */
  readonly duration: number
  /** Until then it is remembered, so that settling it late does not give it back twice. */
  readonly forget: number
}

/** What came of one call. */
export interface Step<R> {
  readonly result: R
  /** What is to be kept from now on; `null` for nothing. The very same object as before when nothing changed. */
  readonly subject: Subject | null
}

type TakeRequest = Omit<TakeAsk, 'address'>
type Request<A> = Omit<A, 'address'>

/** Decides one take: all policies admit and count it, or none counts. */
export function take(subject: Subject | null, ask: TakeRequest, now: number): Step<Verdict> {
  const scene = new Scene(subject, ask.policies, now)
  return { result: scene.take(ask), subject: scene.leave() }
}

/** What a take would be answered. */
export function peek(subject: Subject | null, { policies, cost }: Request<PeekAsk>, now: number): Verdict {
  return new Scene(subject, policies, now).take({
    policies,
    cost,
    id: '',
    countDenied: false,
    returnAfter: null,
  })
}

/** Changes what a take counted. Tells whether anything of it was left to change. */
export function adjust(subject: Subject | null, ask: Request<AdjustAsk>, now: number): Step<boolean> {
  const scene = new Scene(subject, ask.policies, now)
  return { result: scene.adjust(ask), subject: scene.leave() }
}

/** Prolongs the slots of a take. Tells whether they were there, under every policy that has slots. */
export function renew(subject: Subject | null, ask: Request<RenewSlotAsk>, now: number): Step<boolean> {
  const scene = new Scene(subject, ask.policies, now)
  return { result: scene.renew(ask.take), subject: scene.leave() }
}

/** Forgets all usage. A block stays. */
export function reset(subject: Subject | null, now: number): Subject | null {
  const block = subject?.block ?? null
  return block === null || block.until <= now ? null : { usages: [], block, reservations: [] }
}

/** Refuses everything for a while; with a duration of 0 no longer. */
export function block(
  subject: Subject | null,
  { duration }: Pick<BlockAsk, 'duration'>,
  now: number,
): Subject | null {
  const rest = subject ?? { usages: [], reservations: [] }
  return kept({ ...rest, block: duration > 0 ? { until: now + duration, duration } : null }, now)
}

/** From when on nothing of the subject matters any more. */
export function expiryOf({ usages, block, reservations }: Subject): number {
  let last = block?.until ?? 0
  for (const { expires } of usages) last = Math.max(last, expires)
  for (const { forget } of reservations) last = Math.max(last, forget)
  return last
}

/** Without what is over; `null` when that is all. */
function kept(subject: Subject, now: number): Subject | null {
  const usages = subject.usages.filter(({ expires }) => expires > now)
  const reservations = subject.reservations.filter(({ forget }) => forget > now)
  const block = subject.block !== null && subject.block.until > now ? subject.block : null
  if (usages.length === 0 && reservations.length === 0 && block === null) return null
  return { usages, block, reservations }
}

/** One policy's part in a call. */
interface Part {
  standing: Standing
  /** Whether there was any usage. */
  readonly used: boolean
  /** Whether it has to be written. */
  changed: boolean
}

/** A subject while one call works on it: first what fell due by itself is done, then what was asked. */
class Scene {
  readonly #before: Subject | null
  readonly #now: number
  readonly #parts: Part[]
  #block: Block | null
  #reservations: readonly Reservation[]
  #changed = false

  constructor(subject: Subject | null, policies: readonly Policy[], now: number) {
    this.#before = subject
    this.#now = now
    this.#parts = policies.map((policy) => {
      const usage = usageOf(subject, policy, now)
      const standing = new Standing(policy, usage, now)
      return { standing, used: usage !== null, changed: standing.mustKeep }
    })
    this.#block = this.#presentBlock(subject?.block ?? null)
    // What is no longer remembered may still be there when something else kept the subject: it must not matter.
    this.#reservations = subject?.reservations.filter(({ forget }) => forget > now) ?? []
    if (this.#reservations.length > 0) this.#giveBackWhatIsDue()
  }

  take({ cost, id, countDenied, returnAfter }: TakeRequest): Verdict {
    const judgements = this.#parts.map(({ standing }) => standing.judge(cost))
    const blockedFor = this.#block === null ? 0 : this.#block.until - this.#now
    const allowed = blockedFor === 0 && judgements.every((judgement) => judgement.allowed)
    const counts = countDenied && blockedFor === 0 && !judgements.some(({ never }) => never)
    if (allowed) {
      this.#change((standing) => standing.count(cost, id))
      if (returnAfter !== null) this.#reserve(id, cost, returnAfter)
    } else if (counts) {
      this.#change((standing) => standing.countDenied(cost))
    }
    const policies = this.#parts.map(({ standing }, i): PolicyVerdict => {
      const before = judgements[i] ?? standing.judge(cost)
      // A denied take that was counted is what the next try has to wait for, too.
      const judgement =
        !allowed && counts ? { ...before, retryAfter: standing.judge(cost).retryAfter } : before
      return standing.verdict(judgement)
    })
    return { allowed, blockedFor, policies, at: this.#now }
  }

  adjust({ take, at, taken, cost }: Request<AdjustAsk>): boolean {
    const reservation = this.#reservations.find((other) => other.take === take)
    // It was given back already; this is remembered, so that it is not given back twice.
    if (reservation?.cost === 0) return false
    if (reservation !== undefined) this.#keep(this.#reservations.filter((other) => other !== reservation))
    return this.#adjust({ take, at: reservation?.at ?? at, taken, cost })
  }

  renew(take: string): boolean {
    const slots = this.#parts.filter(({ standing }) => standing.policy.kind === 'concurrency')
    const renewed = slots.map((part) => ({ part, standing: part.standing.renew(take) }))
    if (slots.length === 0 || renewed.some(({ standing }) => standing === null)) return false
    for (const { part, standing } of renewed) if (standing !== null) set(part, standing)
    return true
  }

  /** What is to be kept. */
  leave(): Subject | null {
    const changed = this.#parts.filter((part) => part.changed)
    if (changed.length === 0 && !this.#changed) return this.#before
    const names = new Set(changed.map(({ standing }) => standing.policy.name))
    const others = (this.#before?.usages ?? []).filter(({ name }) => !names.has(name))
    const usages = [...others, ...changed.map(({ standing }) => recordOf(standing))]
    return kept({ usages, block: this.#block, reservations: this.#reservations }, this.#now)
  }

  #change(to: (standing: Standing) => Standing): void {
    for (const part of this.#parts) set(part, to(part.standing))
  }

  /** Where nothing was used there is nothing to change. */
  #adjust(change: Change): boolean {
    let adjusted = false
    for (const part of this.#parts) {
      const standing = part.used ? part.standing.adjust(change) : null
      if (standing === null) continue
      set(part, standing)
      adjusted = true
    }
    return adjusted
  }

  #reserve(take: string, cost: number, duration: number): void {
    const end = this.#now + duration
    const longest = Math.max(...this.#parts.map(({ standing }) => spanOf(standing.policy)))
    const forget = Math.max(end, this.#now + longest)
    const reservation = { take, at: this.#now, cost, end, duration, forget }
    this.#keep([...this.#reservations, reservation])
  }

  #giveBackWhatIsDue(): void {
    let changed = false
    const reservations = this.#reservations.map((reservation) => {
      const { take, at, cost, end, duration } = reservation
      if (cost > 0 && end <= this.#now) {
        this.#adjust({ take, at, taken: cost, cost: 0 })
        changed = true
        return { ...reservation, cost: 0 }
      }
      if (at <= this.#now) return reservation
      // The clock was set back: it counts as made now, as what it counted does.
      changed = true
      return { ...reservation, at: this.#now, end: this.#now + duration }
    })
    if (changed) this.#keep(reservations)
  }

  #keep(reservations: readonly Reservation[]): void {
    this.#reservations = reservations
    this.#changed = true
  }

  #presentBlock(block: Block | null): Block | null {
    if (block === null || block.until <= this.#now) return null
    const latest = this.#now + block.duration
    if (block.until <= latest) return block
    this.#changed = true
    return { until: latest, duration: block.duration }
  }
}

function set(part: Part, standing: Standing): void {
  part.standing = standing
  part.changed = true
}

/** `null` when there is none, or one of another kind of policy under this name. */
function usageOf(subject: Subject | null, { name, kind }: Policy, now: number): AnyUsage {
  const record = subject?.usages.find((other) => other.name === name)
  return record === undefined || record.kind !== kind || record.expires <= now ? null : record.usage
}

function recordOf({ policy, usage, expires }: Standing): UsageRecord {
  return { name: policy.name, kind: policy.kind, usage, expires }
}
