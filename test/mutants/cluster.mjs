const SLOTS = 'packages/lab/test/cluster/slots.test.ts'
const MOVING = 'packages/lab/test/cluster/moving.test.ts'
const WAKING = 'packages/lab/test/cluster/waking.test.ts'
const FAILOVER = 'packages/lab/test/cluster/failover.test.ts'

/**
 * The store on a Redis Cluster broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const clusterMutants = {
  'cluster-has-one-fence-for-all-names': {
    file: 'packages/holdfast/src/stores/redis/lock-calls.ts',
    text: 'return this.#inCluster ? besideQueue(address) : address.fenceKey',
    replacement: 'return address.fenceKey',
    caughtBy: {
      file: SLOTS,
      test: 'over ioredis > B9: three hundred names asked for in one turn, in nearly as many slots',
    },
  },
  'cluster-call-holds-keys-of-several-slots': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'slot === NO_SLOT ? this.#batches : this.#ofSlot(slot)',
    replacement: 'slot !== -2 ? this.#batches : this.#ofSlot(slot)',
    caughtBy: {
      file: SLOTS,
      test: 'over ioredis > B9: three hundred names asked for in one turn, in nearly as many slots',
    },
  },
  'moved-is-not-followed': {
    file: 'packages/holdfast/src/stores/redis/cluster/cluster-link.ts',
    text: "if (word === 'MOVED') {",
    replacement: "if (word === 'GONE') {",
    caughtBy: {
      file: MOVING,
      test: 'over ioredis, a slot moves > while its lock is held: it is renewed and released, and the next fence is higher',
    },
  },
  'ask-is-followed-without-asking': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'if (call.asking) this.#port',
    replacement: 'if (call.asking && call.whole) this.#port',
    caughtBy: {
      file: MOVING,
      test: 'over ioredis, a slot moves > slowly: in the midst of it a lock is renewed and released; one that is asked for is granted when it has moved',
    },
  },
  'release-waits-until-the-slot-has-moved': {
    file: 'packages/holdfast/src/stores/redis/cluster/cluster-link.ts',
    text: 'items.length > 1 ? kind : kind.alone',
    replacement: 'items.length > 1 ? kind : undefined',
    caughtBy: {
      file: MOVING,
      test: 'over ioredis, a slot moves > slowly: in the midst of it a lock is renewed and released; one that is asked for is granted when it has moved',
    },
  },
  'dead-node-is-asked-for-ever': {
    file: 'packages/holdfast/src/stores/redis/cluster/cluster-link.ts',
    text: 'if (!node.port.ready || gatherer.silentFor > SILENT_MS) this.#nodes.refresh()',
    replacement: 'if (gatherer.silentFor > 1e6 * SILENT_MS) this.#nodes.refresh()',
    caughtBy: {
      file: FAILOVER,
      test: 'over ioredis > a primary is killed while locks are held and waited for: its successor goes on',
    },
  },
  'node-that-stands-still-has-no-successor': {
    file: 'packages/holdfast/src/stores/redis/cluster/cluster-link.ts',
    text: 'const SILENT_MS = 250',
    replacement: 'const SILENT_MS = 1e9',
    caughtBy: {
      file: FAILOVER,
      test: 'over ioredis > a primary stands still, with its connections open: its successor is found all the same',
    },
  },
  'names-are-not-listened-for': {
    file: 'packages/holdfast/src/stores/redis/lock-store.ts',
    text: "else if (kind === 'busy' && !abandoned) this.#names",
    replacement: "else if (kind === 'late' && !abandoned) this.#names",
    caughtBy: {
      file: WAKING,
      test: 'sharded > over ioredis > D3: a release wakes by the channel of the name, and nothing is passed on to other nodes',
    },
  },
  'subscriptions-of-names-stay': {
    file: 'packages/holdfast/src/stores/redis/cluster/sharded-wakes.ts',
    text: 'if (followed.seen >= (followed.over ? lingers : forgotten)) continue',
    replacement: 'if (followed.seen >= (followed.over ? lingers - 1e9 : forgotten)) continue',
    caughtBy: {
      file: WAKING,
      test: 'sharded > over ioredis > D6: three hundred names contended once each: no subscription stays',
    },
  },
  'unheard-wake-up-is-not-passed-on': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/queue.lua',
    text: "if type(heard) == 'number' and heard > 0 then",
    replacement: 'if heard then',
    caughtBy: {
      file: WAKING,
      test: 'without sharded pub/sub, as before Redis 7 > over ioredis: a release wakes by the channel of the process',
    },
  },
  'one-clock-for-all-nodes': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'const clock = this.#elsewhere === null ? undefined : this.#serverClock',
    replacement: 'const clock = undefined',
    caughtBy: {
      file: 'packages/lab/test/sim/cluster.test.ts',
      test: 'clocks of nodes that stand apart take no lock from anybody (ioredis)',
    },
  },
  'forced-release-is-told-to-waiters-only': {
    file: 'packages/holdfast/src/stores/redis/lua/force.lua',
    text: "redis.pcall('PUBLISH', processChannels(channel) .. holder, 'forced '",
    replacement: "pcall(tell, channel, KEYS[3], holder, 'forced '",
    caughtBy: {
      file: WAKING,
      test: 'sharded > over ioredis > a forced release is told to the holder also while others wait, and wakes one of them',
    },
  },
}
