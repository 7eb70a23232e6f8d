import type { RequestLimiter } from 'holdfast/http'

/** What a limiter's `take` resolves with. */
export type Decision = Awaited<ReturnType<RequestLimiter['take']>>

export const allowed: Decision = {
  allowed: true,
  wouldDeny: false,
  never: false,
  remaining: 9,
  limit: 10,
  retryAfter: 0,
  resetAfter: 2_500,
  delay: 0,
  policy: 'default',
  policies: [
    {
      name: 'default',
      kind: 'sliding-window',
      allowed: true,
      never: false,
      limit: 10,
      window: 60_000,
      remaining: 9,
      retryAfter: 0,
      resetAfter: 2_500,
    },
  ],
  source: 'store',
  cost: 1,
}

export const denied: Decision = {
  ...allowed,
  allowed: false,
  remaining: 0,
  retryAfter: 1_001,
  policies: allowed.policies.map((policy) => ({
    ...policy,
    allowed: false,
    remaining: 0,
    retryAfter: 1_001,
  })),
}

/** The headers that these decisions become. */
export const ALLOWED_FIELDS = { 'ratelimit-policy': '"default";q=10;w=60', ratelimit: '"default";r=9;t=3' }
export const DENIED_FIELDS = { 'ratelimit-policy': '"default";q=10;w=60', ratelimit: '"default";r=0;t=2' }

/** A limiter that answers as told, and writes down whom it was asked about. */
export class ScriptedLimiter implements RequestLimiter {
  readonly name: string
  readonly subjects: string[] = []
  answer: Decision | Error

  constructor(answer: Decision | Error, name = 'scripted') {
    this.answer = answer
    this.name = name
  }

  async take(subject: string): Promise<Decision> {
    this.subjects.push(subject)
    if (this.answer instanceof Error) throw this.answer
    return this.answer
  }
}

/** A decision that holds a slot, and whether it was given back. */
export function withSlot(): { decision: Decision; released: () => boolean } {
  let released = false
  const release = async () => {
    released = true
    return true
  }
  const slot = {
    lost: null,
    signal: new AbortController().signal,
    release,
    [Symbol.asyncDispose]: async () => undefined,
  }
  return { decision: { ...allowed, slot }, released: () => released }
}
