/**
 * Failover broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const failoverMutants = {
  'acknowledged-by-too-few': {
    file: 'packages/holdfast/src/stores/redis/acknowledge.ts',
    text: 'if (local && copies >= replicas) return null',
    replacement: 'if (local && copies >= 1) return null',
    caughtBy: {
      file: 'packages/lab/test/failover/acknowledged.test.ts',
      test: 'ioredis > A5: not acknowledged five times, then acknowledged: held once; given up: no key is left',
    },
  },
  'renewals-are-not-acknowledged': {
    file: 'packages/holdfast/src/stores/redis/lock-calls.ts',
    text: `      expires: 'by-call',
      acknowledgement: this.#acknowledgement,`,
    replacement: `      expires: 'by-call',`,
    caughtBy: {
      file: 'packages/lab/test/failover/acknowledged.test.ts',
      test: 'ioredis > a renewal that is not acknowledged moves no deadline, nor does an extension',
    },
  },
  'acquire-overtakes-its-release': {
    file: 'packages/holdfast/src/stores/redis/lock-store.ts',
    text: 'if (this.#acknowledge !== null) this.#noteRelease(ask.address.key, answer)',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/failover/acknowledged.test.ts',
      test: 'ioredis > an acquire never overtakes the release of its name',
    },
  },
  'reopens-by-uptime-alone': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/epoch.lua',
    text: 'return (known or isYoung) and now + delay or 0',
    replacement: 'return 0',
    caughtBy: {
      file: 'packages/lab/test/failover/epoch.test.ts',
      test: 'reopenDelay > a replica that takes over refuses everybody, also who is new, until what it may have missed is over',
    },
  },
  'any-reopen-delay-will-do': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/epoch.lua',
    text: 'if run and tonumber(term) ~= delay then',
    replacement: 'if run and not term then',
    caughtBy: {
      file: 'packages/lab/test/failover/epoch.test.ts',
      test: 'reopenDelay > 12: a server that was started anew reads its uptime; another delay than the one on record is refused',
    },
  },
  'young-replica-reopens-by-its-uptime': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/epoch.lua',
    text: 'if isYoung and not server.wasReplica then',
    replacement: 'if isYoung then',
    caughtBy: {
      file: 'packages/lab/test/failover/epoch.test.ts',
      test: 'reopenDelay > a replica that was started just before it takes over is not taken for a primary that was restarted',
    },
  },
  'run-id-alone-is-an-epoch': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/epoch.lua',
    text: '(known.copies == server.copies or not server.wasReplica)',
    replacement: 'known.copies',
    caughtBy: {
      file: 'packages/lab/test/failover/epoch.test.ts',
      test: 'reopenDelay > a primary that was a replica for a moment is another one when it takes over again',
    },
  },
  'look-without-an-answer-is-forgotten': {
    file: 'packages/holdfast/src/stores/redis/epoch-watch.ts',
    text: 'if (before !== undefined && identity !== null) {',
    replacement: 'if (before && identity !== null) {',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/epoch-watch.test.ts',
      test: 'who asked the first one, and was not answered, may hold what the next one lacks',
    },
  },
  'new-node-is-nobodys-successor': {
    file: 'packages/holdfast/src/stores/redis/epoch-watch.ts',
    text: 'const before = isNew ? null : this.#known.get(port)',
    replacement: 'const before = this.#known.get(port)',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/epoch-watch.test.ts',
      test: 'a node that was not there in the beginning may have taken over from one that was',
    },
  },
  'holder-asks-the-next-server-later': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'this.#lastTry = -Infinity',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/lock/epoch.test.ts',
      test: 'a renewal has just failed: it is asked again at once (known before: null)',
    },
  },
  'epoch-goes-unseen': {
    file: 'packages/holdfast/src/stores/redis/epoch-watch.ts',
    text: 'this.#listener.changed(before, identity)',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/failover/epoch.test.ts',
      test: 'another server answers: ioredis > 15: it is told, and who holds is told of the loss at once, with renewal and without',
    },
  },
  'a-stepped-clock-shortens-nothing': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'this.#deadline = after(this.#deadline, -ms)',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/lock/clock-watch.test.ts',
      test: 'holders > 27: a step forward ends what it may have cut, at once, and leaves what was just renewed',
    },
  },
  'any-word-of-a-sentinel-counts': {
    file: 'packages/holdfast/src/stores/redis/sentinel-discovery.ts',
    text: 'if (latest === null || latest.epoch <= this.#epoch) return null',
    replacement: 'if (latest === null) return null',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/sentinel-discovery.test.ts',
      test: 'the latest epoch of any sentinel counts, as soon as the one named is a primary',
    },
  },
  'whoever-is-named-is-a-primary': {
    file: 'packages/holdfast/src/stores/redis/sentinel-discovery.ts',
    text: "if (Array.isArray(role) && String(role[0]) === 'master') return client",
    replacement: 'if (Array.isArray(role)) return client',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/sentinel-discovery.test.ts',
      test: 'the latest epoch of any sentinel counts, as soon as the one named is a primary',
    },
  },
  'replica-is-believed': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/read.lua',
    text: "local failure = errorOf(redis.pcall('PEXPIRE', key, '1', 'GT'))",
    replacement: 'local failure = nil',
    caughtBy: {
      file: 'packages/lab/test/failover/stale-replica.test.ts',
      test: 'D13, 24: the address leads to a replica that lags, and back',
    },
  },
}
