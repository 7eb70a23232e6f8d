/**
 * Limits broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const limitMutants = {
  'limit-first-denial-is-believed': {
    file: 'packages/holdfast/src/store/operation.ts',
    text: 'if (this.#unanswered > 0 && this.#plan.isWeak?.(answer.result) === true) {',
    replacement: 'if (this.#unanswered > 9 && this.#plan.isWeak?.(answer.result) === true) {',
    caughtBy: {
      file: 'packages/holdfast/src/store/operation.test.ts',
      test: 'an operation > E22: with an answer that is the last word only when no other try is out > takes a better one that comes after it',
    },
  },
  'denial-of-one-of-two-copies-is-believed': {
    file: 'packages/holdfast/src/store/operation.ts',
    text: 'if (answer.maybeTwice && this.#attempts.length === 1 &&',
    replacement: 'if (answer.maybeTwice && this.#attempts.length === 0 &&',
    caughtBy: {
      file: 'packages/holdfast/src/store/operation.test.ts',
      test: 'an operation > E22: with an answer that is the last word only when no other try is out > asks once more when the client itself may have sent it twice: what it says is left for the other copy',
    },
  },
  'slot-counts-from-the-last-ask': {
    file: 'packages/holdfast/src/limit/decider.ts',
    text: 'return doubtful ? began : (attempt.sent ?? began)',
    replacement: 'return doubtful && attempt.sent === null ? began : (attempt.sent ?? began)',
    caughtBy: {
      file: 'packages/holdfast/src/limit/slot.test.ts',
      test: 'a slot > counts from the first ask when it was asked for twice: the store may have counted it then',
    },
  },
  'slot-takes-the-window-back': {
    file: 'packages/holdfast/src/limit/decider.ts',
    text: 'const keeper = this.#storeTake(wish, slots, id, result)',
    replacement: 'const keeper = this.#storeTake(wish, policies, id, result)',
    caughtBy: {
      file: 'packages/lab/test/limits-behaviour/slots-beside-windows.test.ts',
      test: 'by run, which is denied when the window is full',
    },
  },
  'denial-sleeps-with-the-machine': {
    file: 'packages/holdfast/src/limit/remembered-denials.ts',
    text: 'if (millisecondsUntil(denial.until, this.#clock) <= 0) {',
    replacement: 'if (denial.until.monotonic <= this.#clock.monotonic()) {',
    caughtBy: {
      file: 'packages/holdfast/src/limit/remembered-denials.test.ts',
      test: 'a remembered denial > ends while the machine sleeps: its monotonic clock stands still, the wall clock does not',
    },
  },
  'leased-tokens-sleep-with-the-machine': {
    file: 'packages/holdfast/src/limit/token-leases.ts',
    text: 'cost > this.left || millisecondsUntil(this.until, clock) <= 0',
    replacement: 'cost > this.left || this.until.monotonic <= clock.monotonic()',
    caughtBy: {
      file: 'packages/holdfast/src/limit/token-leases.test.ts',
      test: 'leased tokens > are not used after their window, also where the machine slept through its end',
    },
  },
  'waits-for-a-lease-that-nobody-asks-for': {
    file: 'packages/holdfast/src/limit/token-leases.ts',
    text: 'return this.#endNow()',
    replacement: 'return this.#giveUpLeases()',
    caughtBy: {
      file: 'packages/holdfast/src/limit/token-leases.test.ts',
      test: 'leased tokens > a call that waits for a lease settles also when the subject is reset or blocked meanwhile, or all is closed',
    },
  },
  'denied-takes-count': {
    file: 'packages/holdfast/src/store/limit/subject.ts',
    text: 'const counts = countDenied && blockedFor === 0',
    replacement: 'const counts = blockedFor === 0',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/subject.test.ts',
      test: 'several policies > E3: whichever of them refuses, no other counts',
    },
  },
  'counted-before-the-check': {
    file: 'packages/holdfast/src/store/limit/algorithms/fixed-window.ts',
    text: 'return usage.count + cost <= limit ?',
    replacement: 'return usage.count <= limit ?',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/fixed-window.test.ts',
      test: 'fixed window > twice the limit may pass around an edge, and no more',
    },
  },
  'refund-of-the-oldest': {
    file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.ts',
    text: 'log.changed(Math.min(at, now), cost - taken)',
    replacement: 'log.withoutOldest(taken - cost)',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.test.ts',
      test: 'sliding window > a refund takes from its own hit, not from the oldest',
    },
  },
  'limit-expiry-forgotten': {
    file: 'packages/holdfast/src/store/limit/limit-rules.ts',
    text: 'setSubject(key, subject, subjects.expiryOf(subject))',
    replacement: 'setSubject(key, subject, Infinity)',
    caughtBy: {
      file: 'packages/holdfast/src/stores/memory/memory-limit-store.test.ts',
      test: 'memory limit store > E15: subjects of long windows go soon after these, without many sweeps before',
    },
  },
  'old-count-in-a-new-window': {
    file: 'packages/holdfast/src/store/limit/algorithms/fixed-window.ts',
    text: 'count: usage.window < window ? 0 : usage.count',
    replacement: 'count: usage.count',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/fixed-window.test.ts',
      test: 'fixed window > E8: the algorithm by itself never takes an old count into a new window, however old',
    },
  },
  'old-count-under-a-new-expiry': {
    file: 'packages/holdfast/src/store/limit/subject.ts',
    text: '|| record.expires <= now',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/fixed-window.test.ts',
      test: 'fixed window > E8: the count of a window that is over does not go into one of another length',
    },
  },
  'window-edge-too-late': {
    file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.ts',
    text: '.after(now - per)',
    replacement: '.after(now - per - 1)',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.test.ts',
      test: 'sliding window > E11: a denial waits for as many of the oldest as its cost needs',
    },
  },
  'window-edge-too-early': {
    file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.ts',
    text: '.after(now - per)',
    replacement: '.after(now - per + 1)',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.test.ts',
      test: 'sliding window > the edge: a hit exactly one window old no longer counts, a millisecond younger it does',
    },
  },
  'not-all-or-nothing': {
    file: 'packages/holdfast/src/store/limit/subject.ts',
    text: 'judgements.every((judgement) => judgement.allowed)',
    replacement: 'judgements.some((judgement) => judgement.allowed)',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/subject.test.ts',
      test: 'several policies > E3: all or nothing: five calls in a second count once, and each denial says how long each policy asks to wait',
    },
  },
  'never-is-counted': {
    file: 'packages/holdfast/src/store/limit/subject.ts',
    text: ' && !judgements.some(({ never }) => never)',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/subject.test.ts',
      test: 'several policies > E6: one that can never pass counts nowhere, also with countDenied',
    },
  },
  'take-asked-twice-counts-twice': {
    file: 'packages/holdfast/src/store/limit/limit-rules.ts',
    text: 'if (before !== null) return before as R',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/contract/limit-memory.test.ts',
      test: 'limit store contract: memory > token-bucket: E22: a take asked again is answered the same and counts once; so is an adjust',
    },
  },
  'late-take-counts': {
    file: 'packages/holdfast/src/store/limit/limit-rules.ts',
    text: "if (late) return { kind: 'late' }\n    const reply",
    replacement: 'const reply',
    caughtBy: {
      file: 'packages/lab/test/contract/limit-memory.test.ts',
      test: 'limit store contract: memory > token-bucket: late: a take after its time counts nothing',
    },
  },
  'clock-set-back-locks-out': {
    file: 'packages/holdfast/src/store/limit/subject.ts',
    text: 'changed: standing.mustKeep',
    replacement: 'changed: false',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/sliding-window.test.ts',
      test: 'sliding window > E20: the clock set back: hits in the future count as made now, and no longer than a window',
    },
  },
  'naive-bucket-refund': {
    file: 'packages/holdfast/src/store/limit/algorithms/bucket.ts',
    text: 'Math.max(0, taken * unit - passed) - Math.max(0, cost * unit - passed)',
    replacement: '(taken - cost) * unit',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/algorithms/bucket.test.ts',
      test: 'token bucket > E16: a refund gives back what has not drained yet, so that no burst exceeds the capacity',
    },
  },
  'reservation-given-back-twice': {
    file: 'packages/holdfast/src/store/limit/subject.ts',
    text: 'if (reservation?.cost === 0) return false',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/subject.test.ts',
      test: 'reservations > that are settled late are over: they are not given back twice',
    },
  },
  'all-probe-a-store-that-is-down': {
    file: 'packages/holdfast/src/limit/store-health.ts',
    text: "if (this.#probing) return 'shut'",
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/limit/store-errors.test.ts',
      test: 'while the store is down > one call at a time finds out whether it answers; the others are answered at once',
    },
  },
  'denials-remembered-for-ever': {
    file: 'packages/holdfast/src/limit/remembered-denials.ts',
    text: 'const until = after(sent, Math.min(holds, rememberFor))',
    replacement: 'const until = after(sent, holds)',
    caughtBy: {
      file: 'packages/holdfast/src/limit/remembered-denials.test.ts',
      test: 'a remembered denial > is at most rememberFor old, so that what others give back is seen by then',
    },
  },
  'queue-without-bound': {
    file: 'packages/holdfast/src/limit/waiting-line.ts',
    text: 'if (this.#line.length >= maxWaiting)',
    replacement: 'if (this.#line.length > maxWaiting)',
    caughtBy: {
      file: 'packages/holdfast/src/limit/waiting-line.test.ts',
      test: 'waiting for capacity > E28: a full queue says so',
    },
  },
  'waits-for-a-lease-that-was-never-asked-for': {
    file: 'packages/holdfast/src/limit/token-leases.ts',
    text: 'if (this.#asked === 0) this.#answerAll(null)',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/limit/token-leases.test.ts',
      test: 'leased tokens > a call that waits for a lease settles also when the subject is reset or blocked meanwhile, or all is closed',
    },
  },
  'lease-for-each-who-waits': {
    file: 'packages/holdfast/src/limit/token-leases.ts',
    text: 'let tokens = Math.max(unspoken, enough - this.#left - this.#asked)',
    replacement: 'let tokens = enough',
    caughtBy: {
      file: 'packages/holdfast/src/limit/token-leases.test.ts',
      test: 'leased tokens > many calls at once that come while one is under way are asked for together, and with it',
    },
  },
  'waits-for-more-than-fits': {
    file: 'packages/holdfast/src/limit/token-leases.ts',
    text: 'if (cost > this.#size || policies.some((policy) => cost > capacityOf(policy))) return null',
    replacement: 'if (cost > this.#size) return null',
    caughtBy: {
      file: 'packages/holdfast/src/limit/token-leases.test.ts',
      test: 'leased tokens > what costs more than fits at all is told so, and does not wait for leases',
    },
  },
  'refunds-swell-a-lease': {
    file: 'packages/holdfast/src/limit/token-leases.ts',
    text: 'if (this.#left + this.#asked - this.#demand + tokens > this.#size) return false',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/limit/token-leases.test.ts',
      test: 'leased tokens > that come back by refunds are held no more than a lease',
    },
  },
  'settled-under-two-ids': {
    file: 'packages/holdfast/src/limit/counted.ts',
    text: 'const id = unsure?.id ?? this.#engine.newId()',
    replacement: 'const id = this.#engine.newId()',
    caughtBy: {
      file: 'packages/holdfast/src/limit/reservation.test.ts',
      test: 'a reservation > whose settling fails can be settled again, and counts once',
    },
  },
  'limit-no-not-after': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-count.lua',
    text: 'if not values[1] and now <= tonumber(ARGV[9]) then',
    replacement: 'if not values[1] then',
    caughtBy: {
      file: 'packages/lab/test/limits/once.test.ts',
      test: 'a copy that comes late, ioredis > after its time it counts nothing',
    },
  },
  'limit-key-without-expiry': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-write.lua',
    text: "local reply = redis.pcall('SET', key, value, 'PXAT', expires, 'NX')",
    replacement: "local reply = redis.pcall('SET', key, value, 'NX')",
    caughtBy: {
      file: 'packages/lab/test/limits/keys.test.ts',
      test: 'expiry > E9: after every path every key has an expiry',
    },
  },
  'limit-expiry-not-mended': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-save.lua',
    text: "return present and redis.call('PTTL', key) == -1",
    replacement: 'return false',
    caughtBy: {
      file: 'packages/lab/test/limits/keys.test.ts',
      test: 'expiry > E9: a key that has lost its expiry gets one at the next decision, admitted or denied',
    },
  },
  'limit-reply-not-kept': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-count.lua',
    text: "redis.call('SET', KEYS[1], cmsgpack.pack(replies), 'PX', ARGV[8])",
    replacement: 'local _ = replies',
    caughtBy: {
      file: 'packages/lab/test/limits/once.test.ts',
      test: 'redis > E22: the reply to a take is lost: it is answered in the end, and counted once',
    },
  },
  'limit-second-reply-not-kept': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-recount.lua',
    text: "redis.call('SET', key, cmsgpack.pack(records[key]), 'PX', ms)",
    replacement: 'local _ = ms',
    caughtBy: {
      file: 'packages/lab/test/limits/once.test.ts',
      test: 'a copy that comes late, redis > E22: the first request arrives after the one that asked again: it finds what was decided',
    },
  },
  'limit-batch-without-pcall': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-count.lua',
    text: 'local ok, subject = pcall(subjectAt, KEYS[at], usage, KEYS, values, at)',
    replacement: 'local ok, subject = true, subjectAt(KEYS[at], usage, KEYS, values, at)',
    caughtBy: {
      file: 'packages/lab/test/limits/troubles.test.ts',
      test: 'one that fails > where a key of another type lies, under large, fails alone, and the key stays',
    },
  },
  'limit-overwrites-another-type': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-write.lua',
    text: "'PXAT', expires, 'NX')",
    replacement: "'PXAT', expires)",
    caughtBy: {
      file: 'packages/lab/test/limits/troubles.test.ts',
      test: 'one that fails > where a key of another type lies, under fixed, fails alone, and the key stays',
    },
  },
  'limit-old-count-in-lua': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-tally.lua',
    text: 'if (was + 1) * length > now then',
    replacement: 'if true then',
    caughtBy: {
      file: 'packages/lab/test/limits/keys.test.ts',
      test: 'expiry > E8, E9: what a key without expiry holds from a window that is over does not count in the next one',
    },
  },
  'limit-edge-in-a-small-ring': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-small-window.lua',
    text: 'while count > 0 and oldest <= edge do',
    replacement: 'while count > 0 and oldest < edge do',
    caughtBy: {
      file: 'packages/lab/test/limits/agreement.test.ts',
      test: 'the scripts agree with the pure algorithms > sliding-window: a hit exactly one window old counts no longer, in a small ring',
    },
  },
  'limit-edge-in-a-large-ring': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-large-window.lua',
    text: 'if time <= edge then\n        dropped',
    replacement: 'if time < edge then\n        dropped',
    caughtBy: {
      file: 'packages/lab/test/limits/agreement.test.ts',
      test: 'the scripts agree with the pure algorithms > sliding-window: a hit exactly one window old counts no longer, in a large ring',
    },
  },
  'limit-one-of-several-keys': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/limit-save.lua',
    text: 'local failure = #rules > 1 and errorOf(anotherType(subject))',
    replacement: 'local failure = false',
    caughtBy: {
      file: 'packages/lab/test/limits/troubles.test.ts',
      test: 'one that fails > where one of several keys is of another type, none of them counts',
    },
  },
  'limit-same-subject-twice-in-a-call': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-count.lua',
    text: 'written[usage], counted = keep, true',
    replacement: 'counted = true',
    caughtBy: {
      file: 'packages/lab/test/limits/troubles.test.ts',
      test: 'many at once > E25: 1000 parallel takes by 4 processes at a limit of 5, window: exactly 5 pass',
    },
  },
  'limit-same-subject-by-turns-in-a-call': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-count.lua',
    text: 'written[usage], value, counted = keep, keep, true',
    replacement: 'counted = true',
    caughtBy: {
      file: 'packages/lab/test/limits/troubles.test.ts',
      test: 'many at once > subjects that are taken from by turns and several times on end in one call are counted each by itself, tokens',
    },
  },
  'limit-takes-written-at-once-fail-singly': {
    file: 'packages/holdfast/src/stores/redis/lua/limit-count.lua',
    text: 'for i = unwritten, last do',
    replacement: 'for i = last, last do',
    caughtBy: {
      file: 'packages/lab/test/limits/troubles.test.ts',
      test: 'one that fails > that is taken from several times in a call, under tokens, fails each time, and none else does',
    },
  },
  'given-back-whole-is-forgotten-as-text': {
    file: 'packages/holdfast/src/store/limit/subject-text.ts',
    text: 'of log.all()) {',
    replacement: 'of log) {',
    caughtBy: {
      file: 'packages/holdfast/src/store/limit/subject-text.test.ts',
      test: 'a subject as text > is answered as the subject itself, whatever was taken, given back and counted anew',
    },
  },
  'limit-local-answers-never-leave-the-turn': {
    file: 'packages/holdfast/src/limit/local-answers.ts',
    text: 'if (this.#given <= MOST_OF_A_TURN) return answer',
    replacement: 'if (this.#given > 0) return answer',
    caughtBy: {
      file: 'packages/holdfast/src/limit/local-answers.test.ts',
      test: 'calls that loop over remembered denials leave the event loop to others',
    },
  },
}
