const H = 'packages/holdfast/src/http/idempotency'
const S = 'packages/lab/test/http/once-shells.test.ts'
const C = 'packages/holdfast/src/http/idempotency/core.test.ts'

/**
 * Idempotency over HTTP broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const onceHttpMutants = {
  'what-node-refuses-is-recorded': {
    file: `${H}/node-tap.ts`,
    text: 'if ((bytes === null && hasChunk) || !this.#isHeadTaken) return this',
    replacement: 'if (hasChunk && this.#state === null) return this',
    caughtBy: {
      file: 'packages/lab/test/http/refused-by-node.test.ts',
      test: 'Express 5 > F8: end(number): 500, and the key is free',
    },
  },
  'answer-ends-before-it-is-stored': {
    file: `${H}/node-tap.ts`,
    text: 'this.#shade.cast(recording.status)',
    replacement: 'this.#original.end.apply(this.#response, given)',
    caughtBy: { file: S, test: 'Express 5 > the end of an answer (/end) waits until it is stored' },
  },
  'response-does-not-look-ended': {
    file: `${H}/node-tap.ts`,
    text: 'this.#shade.cast(recording.status)',
    replacement: '',
    caughtBy: {
      file: S,
      test: 'node:http > F1, F2, F13: an answer by /twice is replayed: status, bytes, and allowed fields',
    },
  },
  'departure-is-told-to-the-handler': {
    file: `${H}/hidden-departure.ts`,
    text: "(event === 'close' || event === 'finish') && this.#isHidden()",
    replacement: 'false',
    caughtBy: {
      file: S,
      test: 'Express 5 > F2: an answer by /send-file to a client that has gone is kept whole',
    },
  },
  'last-byte-before-it-is-stored': {
    file: `${H}/recording.ts`,
    text: 'this.#bytes >= this.#promised',
    replacement: 'this.#bytes > this.#promised',
    caughtBy: {
      file: S,
      test: 'Hono > the end of an answer (/sized) waits until it is stored, and its last byte where the length is told',
    },
  },
  'head-alone-is-not-all': {
    file: `${H}/recording.ts`,
    text: 'return !this.hasBody ||',
    replacement: 'return',
    caughtBy: {
      file: S,
      test: 'node:http > the head of an answer to HEAD waits until it is stored, even if it is flushed',
    },
  },
  'short-body-is-whole': {
    file: `${H}/recording.ts`,
    text: 'this.#bytes < this.#promised',
    replacement: 'this.#bytes < 0',
    caughtBy: {
      file: S,
      test: 'Fastify > an answer with fewer bytes than its head promised is not replayed as if it were whole',
    },
  },
  'two-lines-are-one-key': {
    file: `${H}/key-field.ts`,
    text: 'linesOf(rawHeaders) > 1',
    replacement: 'linesOf(rawHeaders) > 9',
    caughtBy: { file: S, test: 'Koa > F15: two lines that look like one string: 400, and no handler runs' },
  },
  'key-without-route': {
    file: `${H}/request-once.ts`,
    text: 'return `${view.method} ${targetOf(view).path} ${key}`',
    replacement: 'return key',
    caughtBy: {
      file: S,
      test: 'Fastify > F10: the same key of another user, at another route, or of another method is another',
    },
  },
  'query-does-not-count': {
    file: `${H}/request-once.ts`,
    text: 'query: targetOf(view).query',
    replacement: "query: ''",
    caughtBy: {
      file: S,
      test: 'Hono > F11: members in any order and numbers in any spelling are one payload; another query is another',
    },
  },
  'server-errors-are-final': {
    file: `${H}/final-status.ts`,
    text: 'status < 500 &&',
    replacement: 'status < 600 &&',
    caughtBy: { file: S, test: 'Express 4 > F8: 500 is not stored, and frees the key' },
  },
  'cookies-are-replayed': {
    file: `${H}/replayed-fields.ts`,
    text: 'named.has(name) || REPLAYED.has(name)',
    replacement: "named.has(name) || name === 'set-cookie' || REPLAYED.has(name)",
    caughtBy: {
      file: S,
      test: 'Fastify > F1, F2, F13: an answer by /json is replayed: status, bytes, and allowed fields',
    },
  },
  'half-an-answer-is-waited-for': {
    file: `${H}/node-tap.ts`,
    text: "this.#giveUp('the response was destroyed')",
    replacement: '',
    caughtBy: {
      file: S,
      test: 'Express 5 > F2: an answer whose source breaks in the middle is not replayed as if it were whole',
    },
  },
  'half-a-stream-is-replayed': {
    file: `${H}/fetch-tap.ts`,
    text: "reject(new GivenUpError('the body of the answer failed', { cause: error }))",
    replacement: 'resolve(recording.recorded())',
    caughtBy: {
      file: S,
      test: 'Hono > F2: an answer whose source breaks in the middle is not replayed as if it were whole',
    },
  },
  'handler-has-for-ever': {
    file: `${H}/request-once.ts`,
    text: '}, maxRun)',
    replacement: '}, maxRun * 1_000)',
    caughtBy: {
      file: S,
      test: 'Koa > F2: a handler that never answers is given up, and nothing is stuck in progress',
    },
  },
  'client-that-left-is-not-noticed': {
    file: `${H}/node-tap.ts`,
    text: '() => this.#clientLeft(),',
    replacement: '() => undefined,',
    caughtBy: { file: S, test: 'Express 5 > F2: a handler that ended with its client is given up, too' },
  },
  'given-up-run-is-freed': {
    file: 'packages/holdfast/src/idempotency/execution.ts',
    text: "if ('error' in outcome && isGivenUp(outcome.error)) {",
    replacement: "if ('error' in outcome && isGivenUp(null)) {",
    caughtBy: {
      file: C,
      test: 'a handler that does not answer > F2: is given up after maxRun; its key is abandoned when the lease is over, and its late answer is its own',
    },
  },
  'scope-is-global-by-default': {
    file: `${H}/options.ts`,
    text: "if (scope === 'global' || typeof scope === 'function') return scope",
    replacement:
      "if (scope === 'global' || typeof scope === 'function') return scope\n  if (scope === undefined) return 'global'",
    caughtBy: { file: C, test: 'options > F10: a scope that was forgotten is told at start-up' },
  },
  'too-large-answer-is-cut': {
    file: `${H}/recording.ts`,
    text: 'this.#unkept ??= why',
    replacement: 'void why',
    caughtBy: {
      file: S,
      test: 'Express 5 > F14: an answer that is too large to store (/huge) is told, not cut',
    },
  },
  'failed-judgement-frees-the-key': {
    file: `${H}/request-once.ts`,
    text: "return unkept('codec', error)",
    replacement: 'throw error',
    caughtBy: { file: C, test: 'a request > an isFinal that throws does not let it run again' },
  },
  'unread-body-is-not-compared': {
    file: `${H}/payload.ts`,
    text: 'if (!hasBody(carrier)) return undefined',
    replacement: 'if (!hasBody(carrier) || carrier.readableDidRead === false) return undefined',
    caughtBy: { file: S, test: 'a body that nobody has read > Express 5: is told, and no handler runs' },
  },
  'client-that-left-stops-its-handler': {
    file: `${H}/node-tap.ts`,
    text: 'const why = `the client has gone',
    replacement: "this.#giveUp('the client has gone')\n    const why = `the client has gone",
    caughtBy: {
      file: S,
      test: 'Express 5 > a client that leaves does not stop its handler, and finds the answer when it comes back',
    },
  },
}
