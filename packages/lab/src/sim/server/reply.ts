/** What a server answers, as a client hands it over: texts are decoded from UTF-8, a status is its text. */
export type Reply = string | number | null | Reply[] | ServerError

/** An error reply. A value and no `Error`: it is returned, and its stack would say nothing. */
export class ServerError {
  readonly message: string

  /** @param message begins with its code, as in `WRONGTYPE Operation …` */
  constructor(message: string) {
    this.message = message
  }

  /** The first word. */
  get code(): string {
    return this.message.split(' ', 1)[0] ?? ''
  }
}

/** A status such as OK, which scripts tell apart from a text. */
export class Status {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What a command answers inside of the server: texts hold one byte a character. */
export type Answer = string | number | null | Status | ServerError | Answer[]

export const OK = new Status('OK')

export const WRONG_TYPE = new ServerError('WRONGTYPE Operation against a key holding the wrong kind of value')
export const SYNTAX = new ServerError('ERR syntax error')
export const NOT_AN_INTEGER = new ServerError('ERR value is not an integer or out of range')
export const NOT_A_FLOAT = new ServerError('ERR value is not a valid float')

/** What clients make of an answer. */
export function replyOf(answer: Answer): Reply {
  if (typeof answer === 'string') return textOf(answer)
  if (answer === null || typeof answer === 'number' || answer instanceof ServerError) return answer
  if (answer instanceof Status) return answer.text
  return answer.map(replyOf)
}

const NOT_ASCII = /[^\x00-\x7f]/ // eslint-disable-line no-control-regex

/** Texts from this length on are scripts, mostly: the same few again and again. */
const LONG = 500
const MOST_KEPT = 200
const bytesOfLong = new Map<string, string>()

/** The bytes of a text, one a character. */
export function bytesOf(text: string): string {
  if (text.length < LONG) return encoded(text)
  let bytes = bytesOfLong.get(text)
  if (bytes === undefined) {
    bytes = encoded(text)
    if (bytesOfLong.size < MOST_KEPT) bytesOfLong.set(text, bytes)
  }
  return bytes
}

function encoded(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

/** The text that such bytes are in UTF-8. What is none is replaced, as clients do. */
export function textOf(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes
}
