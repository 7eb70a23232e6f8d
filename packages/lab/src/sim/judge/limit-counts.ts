import type { Instant } from '../network/server-host.ts'
import type { LimiterPlan } from '../plan/plan.ts'
import type { TakeNote } from '../world/traffic.ts'
import type { Broken } from './judge.ts'

/** The server counts in whole milliseconds. */
const READING_MS = 2
/** A lease may be told to be over by clocks that run apart by so much. */
const DRIFT = 1.01

/** A take that was answered, and when that was decided. */
type Decided = TakeNote & {
  readonly from: NonNullable<TakeNote['from']>
  until: NonNullable<TakeNote['until']>
}

const isDecided = (note: TakeNote): note is Decided => note.from !== null && note.until !== null

/**
 * INV-R1: a limiter never admits more than its limit, as its server's clock sees it, beyond what is stated; nor does it deny what
 * there was room for, later than is stated. Told from outside: by what callers were answered, and when that was decided.
 *
 * Where data are lost, or the clock is set forward, counting begins anew.
 *
 * @param budget milliseconds of one call: nothing of it is counted later than that after it was given up
 */
export function judgeLimiter(plan: LimiterPlan, notes: readonly TakeNote[], budget: number): Broken[] {
  const takes = notes.map(withoutGuess)
  if (plan.kind === 'slots')
    return takes.filter(isDecided).flatMap((note) => judgeSlotDenial(plan, takes, note, budget))
  const admitted = takes.filter(isDecided).filter((note) => note.outcome === 'allowed' && note.how !== 'peek')
  const broken = admitted.flatMap((last) => judgeAdmitted(plan, admitted, last)).slice(0, 1)
  // What is taken in advance is counted before it is used, and given back later: nobody outside knows how much that is.
  if (plan.lease !== null) return broken
  const denied = takes.filter(isDecided).filter((note) => note.outcome === 'denied')
  return [
    ...broken,
    ...denied.flatMap((note) => judgeDenied(plan, takes, note, budget)).slice(0, 1),
    ...takes
      .filter(isDecided)
      .flatMap((note) => judgePeek(plan, admitted, note))
      .slice(0, 1),
  ]
}

/** Where data were lost, or the clock was set, between its asking and its answer, nobody knows on which side it was decided. */
function withoutGuess(note: TakeNote): TakeNote {
  const { from, until } = note
  if (from === null || until === null || (from.epoch === until.epoch && from.steps === until.steps))
    return note
  const epoch = from.epoch === until.epoch ? from.epoch : NaN
  const steps = from.steps === until.steps ? from.steps : NaN
  return { ...note, from: { ...from, epoch, steps } }
}

/** What surely stays counted of a take: nothing of what may have been given back. */
function least({ cost, changed }: TakeNote): number {
  return changed === null ? cost : Math.min(cost, changed.to)
}

/** What may be counted of a take at some time. A server that lost its last writes lost what was given back, too. */
function most({ cost, changed }: TakeNote, at: Instant): number {
  const isBack = changed !== null && changed.done && isKnownAt(changed.told, at)
  return isBack ? Math.min(cost, changed.to) : cost
}

/** Whether something that was done by then is still known to the server. */
function isKnownAt(told: Instant | null, at: Instant): boolean {
  return told !== null && told.steady <= at.steady && told.epoch === at.epoch
}

/** Whether too much was admitted in a span that ends with this one. */
function judgeAdmitted(plan: LimiterPlan, admitted: readonly Decided[], last: Decided): Broken[] {
  const inAdvance =
    plan.lease === null ? 0 : plan.lease * new Set(admitted.map(({ process }) => process)).size
  const before = admitted.filter(
    (note) => note.until.steady <= last.until.steady && note.from.epoch === last.until.epoch,
  )
  for (const first of before) {
    const within = before.filter((note) => note.from.steady >= first.from.steady)
    const bound = boundOf(plan, first, last)
    if (bound === null) continue
    const sum = within.reduce((total, note) => total + least(note), 0)
    const most = bound + inAdvance + givenBackOfOthers(plan, admitted, first, last)
    if (sum <= most) continue
    const ms = (last.until.steady - first.from.steady).toFixed(1)
    return [
      {
        invariant: 'INV-R1',
        name: null,
        sentence: `A limiter (${textOf(plan)}) admitted ${sum} within ${ms} ms; ${most} may be.`,
        witness: [],
      },
    ]
  }
  return []
}

/**
 * What was given back in that span of takes that a loss of data had forgotten. A window of its entries knows them; what is only a number
 * goes down all the same.
 */
function givenBackOfOthers(
  { kind }: LimiterPlan,
  admitted: readonly Decided[],
  first: Decided,
  last: Decided,
): number {
  if (kind === 'sliding') return 0
  const { epoch, steady: end } = last.until
  return admitted
    .filter(({ from, changed }) => {
      if (changed === null || from.epoch === epoch) return false
      return changed.asked.steady <= end && (changed.told?.steady ?? Infinity) >= first.from.steady
    })
    .reduce((total, note) => total + note.cost - least(note), 0)
}

/** How much may be admitted from the first to the last, both included; `null` where nothing is promised. */
function boundOf({ kind, limit, per }: LimiterPlan, first: Decided, last: Decided): number | null {
  const span = last.until.steady - first.from.steady
  switch (kind) {
    case 'sliding':
      return span < per - READING_MS ? limit : null
    case 'fixed':
      return windowOf(first.from.clock, per) === windowOf(last.until.clock, per) &&
        first.from.steps === last.until.steps
        ? limit
        : null
    case 'bucket':
      return limit + ((span + READING_MS) * limit) / per
    case 'slots':
      return null
  }
}

const windowOf = (clock: number, per: number): number => Math.floor(clock / per)

/** Whether this was denied though there was room, whatever became of what nobody knows. */
function judgeDenied(
  plan: LimiterPlan,
  takes: readonly TakeNote[],
  denied: Decided,
  budget: number,
): Broken[] {
  if (denied.source === 'remembered') return judgeRemembered(plan, takes, denied)
  if (denied.cost > plan.limit || denied.source !== 'store' || wasAskedAgain(denied, budget)) return []
  const used = mostUsed(plan, takes, denied, budget)
  if (used + denied.cost <= plan.limit) {
    const sentence = `A limiter (${textOf(plan)}) denied ${denied.cost} with at most ${used} counted (${denied.process}).`
    return [{ invariant: 'INV-R1', name: null, sentence, witness: [] }]
  }
  return []
}

/** The most that may be counted when this was decided. */
function mostUsed(plan: LimiterPlan, takes: readonly TakeNote[], at: Decided, budget: number): number {
  const may = takes.filter(
    (note) =>
      note !== at &&
      note.how !== 'peek' &&
      (note.outcome !== 'denied' || wasAskedAgain(note, budget)) &&
      (note.from ?? note.asked).steady <= at.until.steady,
  )
  const unknown = may.filter(
    (note) =>
      note.until === null ||
      note.outcome === 'denied' ||
      wasDisturbed(note, at) ||
      mayCountAnew(plan, note, at, budget),
  )
  const known = may.filter(isDecided).filter((note) => !unknown.includes(note))
  const open = unknown
    .filter((note) => plan.kind === 'bucket' || !isOver(plan, note, at, budget))
    .reduce((total, note) => total + most(note, at.from), 0)
  if (plan.kind !== 'bucket') {
    const since = at.from.steady - plan.per - READING_MS
    const counted = known.filter((note) => note.until.steady >= since)
    return open + counted.reduce((total, note) => total + most(note, at.from), 0)
  }
  // A bucket is as full as what came in since the moment at which it was last empty, less what ran out meanwhile.
  const levels = known.map((first) => {
    const since = known.filter((note) => note.until.steady >= first.from.steady)
    // Giving back fills it only as far as it is not full: what was given back still counts as it did before.
    const sum = since.reduce((total, note) => total + note.cost, 0)
    return sum - ((at.from.steady - first.until.steady - READING_MS) * plan.limit) / plan.per
  })
  return open + Math.max(0, ...levels)
}

/**
 * Whether a take of which nobody knows whether it was counted surely counts no more: its request was valid for a budget after it was
 * sent, and it was given up later than that. A bucket keeps what it was filled with for as long as it is not empty.
 */
function isOver({ per }: LimiterPlan, take: TakeNote, at: Decided, budget: number): boolean {
  const failed = take.failed ?? take.told
  if (failed === null || failed.steps !== at.from.steps || failed.epoch !== at.from.epoch) return false
  return at.from.steady - failed.steady > DRIFT * (budget + per) + READING_MS
}

/** Whether data were lost since, and with them the answer that a further copy of it would have found: that copy counts once more. */
function mayCountAnew({ per }: LimiterPlan, note: TakeNote, at: Decided, budget: number): boolean {
  const passed = at.from.steady - note.asked.steady
  return note.from?.epoch !== at.from.epoch && passed <= DRIFT * (budget + per) + READING_MS
}

/** Whether a try of a denied take may have had no answer when its time was over: it may have been counted, when another was denied; and which answer it was told is not known. */
function wasAskedAgain({ asked, told }: TakeNote, budget: number): boolean {
  return told === null || told.world - asked.world >= budget / DRIFT - READING_MS
}

/** Whether the server's clock was set in between: then what was counted before may stay longer. */
function wasDisturbed(note: TakeNote, at: Decided): boolean {
  return note.until === null || note.until.steps !== at.from.steps
}

/** A remembered denial must be one that the store said, to this process, not too long ago, with nothing given back since. */
function judgeRemembered(plan: LimiterPlan, takes: readonly TakeNote[], denied: Decided): Broken[] {
  const longest = plan.rememberFor * DRIFT + READING_MS
  // Who waits asks again and again, and what was denied to a call that was aborted is remembered too.
  const many = takes.some(
    (note) =>
      note.process === denied.process &&
      (note.how === 'wait' || note.outcome === 'unknown') &&
      note.cost <= denied.cost &&
      note.asked.world <= denied.until.world &&
      (note.told?.world ?? Infinity) >= denied.until.world - longest,
  )
  if (many) return []
  const source = takes.some(
    (note) =>
      note.process === denied.process &&
      note.source === 'store' &&
      note.outcome === 'denied' &&
      note.cost <= denied.cost &&
      note.told !== null &&
      note.told.world <= denied.until.world &&
      denied.until.world - note.asked.world <= longest + (note.told.world - note.asked.world) &&
      !takes.some(
        ({ process, changed, cost }) =>
          process === denied.process &&
          changed?.done === true &&
          changed.to < cost &&
          changed.told !== null &&
          changed.told.world > (note.told?.world ?? 0) &&
          changed.told.world < denied.asked.world,
      ),
  )
  if (source) return []
  const sentence = `A limiter (${textOf(plan)}) denied from memory what the store had not denied to ${denied.process} lately.`
  return [{ invariant: 'INV-R1', name: null, sentence, witness: [] }]
}

/** A peek that says yes must not be said while the limit is surely used up. */
function judgePeek(plan: LimiterPlan, admitted: readonly Decided[], peek: Decided): Broken[] {
  if (peek.how !== 'peek' || peek.outcome !== 'allowed' || plan.kind !== 'sliding') return []
  const counted = admitted.filter(
    (note) =>
      note.changed === null &&
      note.from.epoch === peek.until.epoch &&
      note.until.steady < peek.from.steady &&
      note.from.steady > peek.until.steady - plan.per + READING_MS,
  )
  const used = counted.reduce((total, note) => total + note.cost, 0)
  if (used + peek.cost <= plan.limit) return []
  const sentence = `A limiter (${textOf(plan)}) would admit ${peek.cost} on top of ${used} (${peek.process}).`
  return [{ invariant: 'INV-R1', name: null, sentence, witness: [] }]
}

/** A slot is denied only while others may be held. */
function judgeSlotDenial(
  plan: LimiterPlan,
  takes: readonly TakeNote[],
  denied: Decided,
  budget: number,
): Broken[] {
  if (denied.outcome !== 'denied' || denied.source !== 'store' || denied.how === 'wait') return []
  if (wasAskedAgain(denied, budget)) return []
  const held = takes.filter(
    (note) =>
      note !== denied &&
      note.how !== 'peek' &&
      (note.outcome !== 'denied' || wasAskedAgain(note, budget)) &&
      note.asked.world <= denied.until.world &&
      !(note.until === null && isOver(plan, note, denied, budget)) &&
      !isKnownAt(note.slot?.returned ?? null, denied.from),
  )
  if (held.length + denied.cost > plan.limit) return []
  const sentence = `A slot (${textOf(plan)}) was denied to ${denied.process} with at most ${held.length} held.`
  return [{ invariant: 'INV-R1', name: null, sentence, witness: [] }]
}

function textOf({ kind, limit, per, lease }: LimiterPlan): string {
  return `${kind}, ${limit} per ${per} ms${lease === null ? '' : `, ${lease} in advance`}`
}
