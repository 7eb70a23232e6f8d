import type { Answer, AnswerListener } from './contract.ts'

/** What a listener hears, as a promise. */
export function promised<R>(begin: (listener: AnswerListener<R>) => void): Promise<Answer<R>> {
  return new Promise((answered, failed) => begin({ answered, failed }))
}
