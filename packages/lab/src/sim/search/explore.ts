/** A small world of which every state is known. */
export interface Model<State> {
  readonly start: State
  /** All that can happen in a state. */
  next(state: State): Iterable<Step<State>>
  /** Tells states apart. */
  keyOf(state: State): string
  /** What is wrong in a state; `null` when nothing is. */
  wrong(state: State): string | null
}

export interface Step<State> {
  /** In a few words. */
  readonly what: string
  readonly state: State
}

/** What a search came to. */
export interface Explored {
  /** States that differ. */
  readonly states: number
  readonly steps: number
  /** The longest of the shortest ways to a state. */
  readonly depth: number
  /** What is wrong, by the shortest way there; `null` when nothing is, in any state. */
  readonly found: { readonly wrong: string; readonly way: readonly string[] } | null
}

interface Known {
  readonly before: string | null
  readonly what: string
  readonly depth: number
}

/** More than this do not fit in memory. */
const MOST_STATES = 8_000_000

/**
 * Goes through every state that can be reached, the nearest first, up to the first in which something is wrong.
 *
 * @throws RangeError when there are more than `most`
 */
export function explore<State>(model: Model<State>, most = MOST_STATES): Explored {
  const known = new Map<string, Known>()
  let front: { key: string; state: State }[] = []
  let steps = 0
  let depth = 0
  const begin = model.keyOf(model.start)
  known.set(begin, { before: null, what: '', depth: 0 })
  front.push({ key: begin, state: model.start })
  const end = (key: string, wrong: string): Explored => ({
    states: known.size,
    steps,
    depth,
    found: { wrong, way: wayTo(known, key) },
  })
  const atOnce = model.wrong(model.start)
  if (atOnce !== null) return end(begin, atOnce)
  while (front.length > 0) {
    const reached: typeof front = []
    for (const { key, state } of front) {
      for (const step of model.next(state)) {
        steps += 1
        const then = model.keyOf(step.state)
        if (known.has(then)) continue
        depth = (known.get(key) as Known).depth + 1
        known.set(then, { before: key, what: step.what, depth })
        const wrong = model.wrong(step.state)
        if (wrong !== null) return end(then, wrong)
        reached.push({ key: then, state: step.state })
        if (known.size > most) throw new RangeError(`there are more than ${most} states`)
      }
    }
    front = reached
  }
  return { states: known.size, steps, depth, found: null }
}

function wayTo(known: ReadonlyMap<string, Known>, key: string): string[] {
  const way: string[] = []
  let at = known.get(key)
  while (at !== undefined && at.before !== null) {
    way.unshift(at.what)
    at = known.get(at.before)
  }
  return way
}
