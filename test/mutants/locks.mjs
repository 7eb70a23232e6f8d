/**
 * Locks broken on purpose. Each entry must be caught by the test it names.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const lockMutants = {
  'last-fence-stays-at-the-end-of-numbers': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/fence.lua',
    text: 'local highest = first + (count - 1) + spare',
    replacement: 'local highest = first + count - 1 + spare',
    caughtBy: {
      file: 'packages/lab/test/scripts/batches.test.ts',
      test: 'one that fails > a last fence that leaves no room refuses every grant, since the next could not be written',
    },
  },
  'queue-is-forgotten-after-its-own-key': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: 'if (this.#manners.join) this.#manners = { ...this.#manners, stands: true }',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/lock/giving-back.test.ts',
      test: 'an ask that finds a key of its own process which nobody holds any more leaves no place in the queue',
    },
  },
  'granted-without-the-last-fence': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/fence.lua',
    text: `  if failure then
    return nil, failure
  end
  return first, nil, spare`,
    replacement: '  return first, nil, spare, failure',
    caughtBy: {
      file: 'packages/lab/test/scripts/batches.test.ts',
      test: 'one that fails > a last fence that leaves no room refuses every grant, since the next could not be written',
    },
  },
  'reserved-fences-after-a-re-ask': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: 'const reserved = unfinishedUntil === null ? wanted : 0',
    replacement: 'const reserved = wanted',
    caughtBy: {
      file: 'packages/holdfast/src/lock/local-hand-over.test.ts',
      test: 'a lease is not handed on > when it may have been asked for twice: a copy that came after the last release would be granted for nobody',
    },
  },
  'script-is-never-whole-after-silence': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'this.whole = items.some(({ attempt }) => attempt.afterSilence)',
    replacement: 'this.whole = false',
    caughtBy: {
      file: 'packages/lab/test/faults/scripts.test.ts',
      test: 'ioredis > fault 26, 34: the server has forgotten the script, and its word of it is lost: the release is done all the same',
    },
  },
  'lost-release-is-not-repeated': {
    file: 'packages/holdfast/src/lock/engine.ts',
    text: 'if (!this.#closed) this.recentReleases.repeat()',
    replacement: 'if (this.#closed) this.recentReleases.repeat()',
    caughtBy: {
      file: 'packages/lab/test/holding/releasing.test.ts',
      test: 'ioredis > what a server has again that lost its last writes is released again, and nothing else',
    },
  },
  'refused-subscription-is-final': {
    file: 'packages/holdfast/src/stores/redis/connection.ts',
    text: 'if (!this.#stopped) this.#timer =',
    replacement: 'if (this.#stopped) this.#timer =',
    caughtBy: {
      file: 'packages/lab/test/waiting/wake.test.ts',
      test: 'ioredis > D3: a right to the channels that is given later is found out, without a new connection',
    },
  },
  'woken-stands-back': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: 'yield: standsBack && !woken',
    replacement: 'yield: standsBack',
    caughtBy: {
      file: 'packages/holdfast/src/lock/hand-over.test.ts',
      test: 'a process that is woken soon after its own release takes the lock, and does not stand back',
    },
  },
  'hand-over-after-unconfirmed-renewal': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'return now < this.#handOverUntil && fresh && !extended && this.lost === null',
    replacement: 'return now < this.#handOverUntil && !extended && this.lost === null',
    caughtBy: {
      file: 'packages/holdfast/src/lock/local-hand-over.test.ts',
      test: 'a lease is not handed on > after an unconfirmed renewal: the store has not confirmed it for a third of the ttl',
    },
  },
  'handed-on-under-the-same-fence': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'fence: this.fence + 1n',
    replacement: 'fence: this.fence',
    caughtBy: {
      file: 'packages/holdfast/src/lock/local-hand-over.test.ts',
      test: 'a lease that is given back > goes down the line without a round trip, with rising fences, and is released once',
    },
  },
  'hand-over-without-end': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'this.#spare = Math.min(grant.reserved, wish.handOver.grants - 1)',
    replacement: 'this.#spare = grant.reserved + 1_000',
    caughtBy: {
      file: 'packages/holdfast/src/lock/local-hand-over.test.ts',
      test: 'a lease is not handed on > past others: who waits elsewhere gets it next',
    },
  },
  'no-deadline-timer': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'const end = Math.min(now.monotonic + millisecondsFrom(now, this.#deadline), this.#holdEnd)',
    replacement: 'const end = this.#holdEnd',
    caughtBy: {
      file: 'packages/holdfast/src/lock/loss.test.ts',
      test: 'C4: an outage of the store > of 1 ttl: exactly one loss, at the local deadline, with the store still away',
    },
  },
  'no-deadline-check': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: "if (this.#lost === null && this.#phase !== 'released') this.#checkTime(now)",
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/lock/loss.test.ts',
      test: 'D1: an event loop that was blocked for 1.5 ttl > on the very next line lost is right',
    },
  },
  'signal-waits-for-the-timer': {
    file: 'packages/holdfast/src/lock/loss-signal.ts',
    text: `      check()
      return Reflect.get`,
    replacement: '      return Reflect.get',
    caughtBy: {
      file: 'packages/holdfast/src/lock/loss-signal.test.ts',
      test: 'LossSignal > `aborted` finds out by itself, on the very line',
    },
  },
  'wall-clock-deadline': {
    file: 'packages/holdfast/src/clock.ts',
    text: 'Math.min(deadline.monotonic - clock.monotonic(), deadline.wall - clock.wall())',
    replacement: 'deadline.wall - clock.wall()',
    caughtBy: {
      file: 'packages/holdfast/src/lock/stepped-clocks.test.ts',
      test: 'fault 6: the wall clock is stepped > back by an hour: changes nothing',
    },
  },
  'monotonic-deadline-only': {
    file: 'packages/holdfast/src/clock.ts',
    text: 'Math.min(deadline.monotonic - clock.monotonic(), deadline.wall - clock.wall())',
    replacement: 'deadline.monotonic - clock.monotonic()',
    caughtBy: {
      file: 'packages/holdfast/src/lock/stepped-clocks.test.ts',
      test: 'fault 7: the machine sleeps, and the monotonic clock with it > longer than the lease: lost on the first line afterwards',
    },
  },
  'deadline-from-the-answer': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'this.#deadline = laterOf(after(sent, ttl - driftAllowance(ttl)), this.#deadline, this.#engine.clock)',
    replacement: `const { clock } = this.#engine
    const now = { monotonic: clock.monotonic(), wall: clock.wall() }
    this.#deadline = laterOf(after(now, ttl - driftAllowance(ttl)), this.#deadline, this.#engine.clock)`,
    caughtBy: {
      file: 'packages/holdfast/src/lock/granted-lease.test.ts',
      test: 'renewal > an answer that comes late counts from when the request was sent',
    },
  },
  'renewal-valid-beyond-the-deadline': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'new Attempt(now + budget, Math.min(now + budget, this.#deadline.monotonic))',
    replacement: 'new Attempt(now + budget, now + budget)',
    caughtBy: {
      file: 'packages/holdfast/src/lock/granted-lease.test.ts',
      test: 'renewal > a renewal that arrives after the deadline, while the key still stands, prolongs nothing',
    },
  },
  'retries-come-early': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'renewsFirst && !this.#retrying ?',
    replacement: 'renewsFirst ?',
    caughtBy: {
      file: 'packages/holdfast/src/lock/granted-lease.test.ts',
      test: 'C7: how often it is renewed > a lock in trouble is not tried as often as the one beside it is renewed',
    },
  },
  'renewal-outlives-release': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: `    this.#phase = 'releasing'
    this.#callOffRenewals()`,
    replacement: "    this.#phase = 'releasing'",
    caughtBy: {
      file: 'packages/holdfast/src/lock/giving-back.test.ts',
      test: 'release > while a renewal is on its way: the renewal is called off, and its answer changes nothing',
    },
  },
  'max-hold-keeps-the-lock': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: "if (reason === 'max-hold' || this.#unfinishedUntil !== null) this.disown()",
    replacement: 'if (this.#unfinishedUntil !== null) this.disown()',
    caughtBy: {
      file: 'packages/holdfast/src/lock/loss.test.ts',
      test: 'C11: maxHold > a hung holder is aborted, and its lock free, at that very time',
    },
  },
  'repeated-release-is-foreign': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'if (this.#maybeReleased || outcome.doubtful',
    replacement: 'if (outcome.doubtful',
    caughtBy: {
      file: 'packages/holdfast/src/lock/giving-back.test.ts',
      test: 'D11: the network fails at the release > the answer is lost (unanswered): the second try says released',
    },
  },
  'user-error-replaced': {
    file: 'packages/holdfast/src/lock/running.ts',
    text: '    throw ended.error',
    replacement: '    throw trouble ?? ended.error',
    caughtBy: {
      file: 'packages/holdfast/src/lock/run-ending.test.ts',
      test: 'D10: the lock cannot be released, by the network > and the work threw: it rejects with just that, ours rides along unseen',
    },
  },
  'loss-hidden-by-success': {
    file: 'packages/holdfast/src/lock/running.ts',
    text: 'if (trouble instanceof LockLostError) throw trouble',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/lock/run-ending.test.ts',
      test: 'D10: the lock is found to be gone by the release > and the work returned a value',
    },
  },
  'renewal-by-set': {
    file: 'packages/holdfast/src/stores/redis/lua/renew.lua',
    text: "replies[i + 2] = { 'missing' }",
    replacement: `redis.call('SET', lock, grant, 'PX', ttl)
    replies[i + 2] = { 'renewed' }`,
    caughtBy: {
      file: 'packages/lab/test/holding/renewing.test.ts',
      test: 'a key that is gone > C3: vanished: known at the next renewal, which never makes it again',
    },
  },
  'renewal-compares-owner-only': {
    file: 'packages/holdfast/src/stores/redis/lua/renew.lua',
    text: 'elseif not isGrant(value, grant) then',
    replacement: 'elseif ownerOf(value) ~= ownerOf(grant) then',
    caughtBy: {
      file: 'packages/lab/test/holding/renewing.test.ts',
      test: 'a key that is gone > C3: emptied and filled by a key of the same owner with another fence: not ours',
    },
  },
  'bare-del': {
    file: 'packages/holdfast/src/stores/redis/lua/release.lua',
    text: 'elseif not isOwnedBy(value, owners[i]) then',
    replacement: 'elseif false then',
    caughtBy: {
      file: 'packages/lab/test/contract/redis.test.ts',
      test: "lock store contract: redis over ioredis > foreign: another software's lock excludes us, is shown, and is neither released nor renewed",
    },
  },
  'release-by-name': {
    file: 'packages/holdfast/src/store/lock-rules.ts',
    text: `    if (lease.owner !== owner) return { kind: 'other', holder: this.#holder(lease) }
    this.#tables.dropLease(address.key)
    return { kind: 'released'`,
    replacement: `    this.#tables.dropLease(address.key)
    return { kind: 'released'`,
    caughtBy: {
      file: 'packages/holdfast/src/lock/giving-back.test.ts',
      test: 'D9: release after expiry > leaves the next holder alone',
    },
  },
  'get-then-del': {
    file: 'packages/holdfast/src/stores/memory/memory-lock-store.ts',
    text: '    return this.#step(attempt, false, () => this.#rules.release(ask))',
    replacement: `    const seen = this.#step(attempt, false, () => this.#rules.inspect(ask.address))
    if (seen.result?.owner !== ask.owner) return this.#step(attempt, false, () => this.#rules.release(ask))
    await new Promise<void>((resolve) => this.#clock.endOfTurn(resolve))
    return this.#step(attempt, false, () => {
      this.#tables.dropLease(ask.address.key)
      return { kind: 'released', wokeOther: false }
    })`,
    caughtBy: {
      file: 'packages/holdfast/src/lock/giving-back.test.ts',
      test: 'release > that takes its time does not delete what the next one got meanwhile',
    },
  },
  'setnx-then-expire': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: "redis.pcall('SET', lock, value, 'NX', 'PX', ttl)",
    replacement: "redis.pcall('SET', lock, value, 'NX')",
    caughtBy: {
      file: 'packages/lab/test/holding/renewing.test.ts',
      test: 'INV-C1: no key of ours is ever without an expiry: held, renewed, waited for, forced, given back',
    },
  },
  'incr-fence': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/fence.lua',
    text: 'local first = math.max(last + 1, nowMicros)',
    replacement: 'local first = last + 1',
    caughtBy: {
      file: 'packages/lab/test/histories/broken-holders.test.ts',
      test: 'the checker > finds nothing in ours, in the story of a lost counter',
    },
  },
  'forced-release-by-name': {
    file: 'packages/holdfast/src/stores/redis/lua/force.lua',
    text: 'elseif ownerOf(value) ~= owner then',
    replacement: 'elseif false then',
    caughtBy: {
      file: 'packages/lab/test/holding/losses.test.ts',
      test: 'redis > a forced release of an owner who holds no more leaves the next one alone',
    },
  },
  'waits-keep-nothing-alive': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: 'const timer = clock.setTimer(wake, left, { keepAlive: true })',
    replacement: 'const timer = clock.setTimer(wake, left)',
    caughtBy: {
      file: 'packages/lab/test/holding/exiting.test.ts',
      test: 'D15: a script > on memory that only waits does not end before the wait does',
    },
  },
  'timers-keep-alive': {
    file: 'packages/holdfast/src/clock.ts',
    text: 'if (!keepAlive) this.#timeout.unref()',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/holding/exiting.test.ts',
      test: 'D15: a script > on memory that still holds a lock ends at once',
    },
  },
  'signal-ends-it-at-once': {
    file: 'packages/holdfast/src/signals.ts',
    text: '    void close().finally(() => {',
    replacement: `    void close()
    void Promise.resolve().finally(() => {`,
    caughtBy: {
      file: 'packages/lab/test/holding/closing.test.ts',
      test: 'C12: SIGTERM with closeOn > gives all of them back, ends by SIGTERM, and sends nothing afterwards',
    },
  },
  'gaps-renew-at-will': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'Math.max(this.#engine.clock.monotonic(), this.#lastTry + this.#pauseBetweenTries)',
    replacement: 'this.#engine.clock.monotonic()',
    caughtBy: {
      file: 'packages/holdfast/src/lock/granted-lease.test.ts',
      test: 'renewal > a subscription that comes and goes does not make it renew more often than ten times in a ttl',
    },
  },
  'clocks-move-apart': {
    file: 'packages/holdfast/src/lock/later-deadline.ts',
    text: '  return millisecondsUntil(next, clock) > millisecondsUntil(standing, clock) ? next : standing',
    replacement: `  if (millisecondsUntil(next, clock) < 0) return standing
  const monotonic = Math.max(standing.monotonic, next.monotonic)
  return { monotonic, wall: Math.max(standing.wall, next.wall) }`,
    caughtBy: {
      file: 'packages/holdfast/src/lock/stepped-clocks.test.ts',
      test: 'fault 7: the machine sleeps, and the monotonic clock with it > is noticed also when the wall clock had been set back before',
    },
  },
  'close-waits-for-the-store': {
    file: 'packages/holdfast/src/holdfast.ts',
    text: 'await answered(closed(), this.#clock, end)',
    replacement: 'await closed()',
    caughtBy: {
      file: 'packages/holdfast/src/holdfast.test.ts',
      test: 'createHoldfast > closing settles within two budgets, and does not reject, when the store never ends',
    },
  },
  'inspect-outlives-close': {
    file: 'packages/holdfast/src/lock/engine.ts',
    text: '    this.inBackground(outcome)\n',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/lock/closing.test.ts',
      test: 'C12: close() > waits for inspect, and sends nothing after it',
    },
  },
  'settling-outlives-close': {
    file: 'packages/holdfast/src/lock/settlement.ts',
    text: 'if (clock.monotonic() >= giveUpAt || engine.over) return',
    replacement: 'if (clock.monotonic() >= giveUpAt) return',
    caughtBy: {
      file: 'packages/holdfast/src/lock/closing.test.ts',
      test: 'C12: close() > does not wait longer than two budgets for what is being tidied up, and gives it up then',
    },
  },
  'close-forgets-asks': {
    file: 'packages/holdfast/src/lock/engine.ts',
    text: `      for (const waiter of [...asking]) waiter.fail(new ClosedError())
`,
    replacement: `      void asking
`,
    caughtBy: {
      file: 'packages/holdfast/src/lock/closing.test.ts',
      test: 'C12: close() > rejects an acquire that is under way, at once, and does not leave its lock behind',
    },
  },
  'one-copy-is-enough': {
    file: 'packages/holdfast/src/lock/settlement.ts',
    text: '      if (left < 0) return',
    replacement: '      return',
    caughtBy: {
      file: 'packages/holdfast/src/lock/settlement.test.ts',
      test: 'settleOwner > D17: a copy that arrives after the release, within its time, leaves no key behind it',
    },
  },
  'barging-releaser': {
    file: 'packages/holdfast/src/lock/engine.ts',
    text: 'this.#standBacks.delete(key) && this.clock.monotonic() < until',
    replacement: 'this.#standBacks.delete(key) && until < 0',
    caughtBy: {
      file: 'packages/holdfast/src/lock/contention.test.ts',
      test: 'two processes > L6: whose release found waiters stands back once: the lock goes from hand to hand (1 loops each)',
    },
  },
  'wakes-its-own-process': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/queue.lua',
    text: 'if waiter ~= process and (woken == 0',
    replacement: 'if (woken == 0',
    caughtBy: {
      file: 'packages/lab/test/waiting/wake.test.ts',
      test: 'whatever client > a release wakes no waiter of its own process over the server: the next in line goes on by itself',
    },
  },
  'wake-lost-during-an-ask': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: 'if (this.#nudges !== this.#nudgesBefore) return this.#ask(waiter, true)',
    replacement: 'if (this.#nudges < 0) return this.#ask(waiter, true)',
    caughtBy: {
      file: 'packages/holdfast/src/lock/contention.test.ts',
      test: 'a waiter in the queue > a wake-up that comes while an ask is in flight is kept',
    },
  },
  'no-safety-poll': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: '(canWake ? bounds.safetyPoll',
    replacement: '(canWake ? bounds.maxWait',
    caughtBy: {
      file: 'packages/holdfast/src/lock/contention.test.ts',
      test: 'a waiter in the queue > L6: gets in by its poll when the wake-up is lost',
    },
  },
  'contention-never-forgotten': {
    file: 'packages/holdfast/src/lock/engine.ts',
    text: `    entry.contention = null
    this.table.ended(entry)
`,
    replacement: `    void entry
`,
    caughtBy: {
      file: 'packages/lab/test/waiting/churn.test.ts',
      test: 'D6: ioredis: thousands of names contended once each: no subscription, no key and no memory is left',
    },
  },
  'batch-without-pcall': {
    file: 'packages/holdfast/src/stores/redis/lua/renew.lua',
    text: 'local value, failure = readString(lock)',
    replacement: "local value, failure = redis.call('GET', lock), nil",
    caughtBy: {
      file: 'packages/lab/test/scripts/batches.test.ts',
      test: 'one that fails > to be extended fails alone',
    },
  },
  'undeclared-key': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/queue.lua',
    text: '    leaveQueue(queue, process)\n  end\nend\n',
    replacement:
      "    leaveQueue(queue, process)\n  end\n  redis.call('SET', 'queues:last', queue, 'PX', 1000)\nend\n",
    caughtBy: {
      file: 'packages/lab/test/scripts/keys.test.ts',
      test: 'every script does its work with no more than the keys of one lock and the last fence',
    },
  },
  'encoding-not-injective': {
    file: 'packages/holdfast/src/name.ts',
    text: '/[{}|%\\u0000',
    replacement: '/[{}|\\u0000',
    caughtBy: {
      file: 'packages/holdfast/src/name.test.ts',
      test: 'encoding of names > L10: a name that was not shortened can be read back, so that no two share a key',
    },
  },
  'imitates-a-shortened-name': {
    file: 'packages/holdfast/src/name.ts',
    text: ' && !looksShortened(encoded, bytes.length)',
    replacement: '',
    caughtBy: {
      file: 'packages/holdfast/src/name.test.ts',
      test: 'encoding of names > L10: a name that is spelt like a shortened one does not meet it',
    },
  },
  'siblings-overlap': {
    file: 'packages/holdfast/src/lock/share.ts',
    text: "    return this.#child === null\n  }\n\n  /** A child, when {@link free}. */\n  nest(): Share {\n    if (this.#child !== null) throw new Error('a share has one living child')\n",
    replacement: '    return true\n  }\n\n  nest(): Share {\n',
    caughtBy: {
      file: 'packages/holdfast/src/lock/reentry.test.ts',
      test: 'two branches of one flow > C9: never overlap, whether they nest by run or by within',
    },
  },
  'half-a-lock-is-kept': {
    file: 'packages/holdfast/src/lock/lease-pair.ts',
    text: 'if (half.lost !== null) other',
    replacement: 'if (half.lost === null) other',
    caughtBy: {
      file: 'packages/holdfast/src/lock/lease-pair.test.ts',
      test: 'the loss of the old half > forced: the holder is told, and the other half is neither renewed nor left behind',
    },
  },
  'no-not-after': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: 'elseif now > lastMoment(i) then',
    replacement: 'elseif false then',
    caughtBy: {
      file: 'packages/lab/test/acquiring/delayed-request.test.ts',
      test: 'ioredis > D17: an acquire arrives after its release, beyond the budget: the server refuses it',
    },
  },
  'renewal-without-not-after': {
    file: 'packages/holdfast/src/stores/redis/lua/renew.lua',
    text: 'if now > notAfter + (tonumber(later) or 0) then',
    replacement: 'if false then',
    caughtBy: {
      file: 'packages/lab/test/acquiring/delayed-request.test.ts',
      test: 'fault 31: an extension that arrives beyond its budget is refused',
    },
  },
  'owner-used-twice': {
    file: 'packages/holdfast/src/store/owner.ts',
    text: 'const count = this.#count++',
    replacement: 'const count = this.#count',
    caughtBy: {
      file: 'packages/lab/test/acquiring/delayed-request.test.ts',
      test: 'a compensation that arrives late does not hit the next grant of the same process',
    },
  },
  'mine-shortens': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: 'digits(math.max(left, tonumber(ttl)))',
    replacement: 'digits(tonumber(ttl))',
    caughtBy: {
      file: 'packages/lab/test/acquiring/delayed-request.test.ts',
      test: 'an acquire that arrives again never shortens its lease: what is left, or the ttl if that is more',
    },
  },
  'late-is-refused': {
    file: 'packages/holdfast/src/store/operation.ts',
    text: "      this.#doubtful = true\n      this.#failure = new StoreFailure('the request reached",
    replacement:
      "      return this.#end({ kind: 'refused', failure: silent() })\n      this.#failure = new StoreFailure('the request reached",
    caughtBy: {
      file: 'packages/lab/test/acquiring/late-answer.test.ts',
      test: 'granted without an answer, then late: asked again, and got with the same owner',
    },
  },
  'deadline-from-the-grant': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: '    const { sent } = attempt\n',
    replacement:
      '    const { clock } = this.#engine\n    const sent = attempt.sent && { monotonic: clock.monotonic(), wall: clock.wall() }\n',
    caughtBy: {
      file: 'packages/lab/test/acquiring/late-grant.test.ts',
      test: 'the deadline counts from when the request was sent: an acquire whose answer took 200 ms',
    },
  },
  'late-grant-handed-over': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: 'if (sent === null || millisecondsFrom(now, after(sent, ttl - driftAllowance(ttl))) <= 0) {',
    replacement: 'if (sent === null) {',
    caughtBy: {
      file: 'packages/lab/test/acquiring/late-grant.test.ts',
      test: 'ioredis > A1: server stopped for longer than the ttl: tryAcquire gives nothing that is over, and its key goes',
    },
  },
  'busy-about-its-own': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: 'const blocked = holder !== null && this.#engine.isAbandoned(holder.owner, this.#wish.entry)',
    replacement: 'const blocked = false',
    caughtBy: {
      file: 'packages/lab/test/acquiring/lost-reply.test.ts',
      test: 'redis > A3: a key of an owner of this process that nobody holds any more is no obstacle',
    },
  },
  'not-mine': {
    file: 'packages/holdfast/src/stores/redis/lua/acquire.lua',
    text: `  if isOwnedBy(value, owner) then
    return again(lock, value)
  end
`,
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/acquiring/lost-reply.test.ts',
      test: 'ioredis > A2: the reply is lost once: got at the next try, with one key, one fence and one owner',
    },
  },
  'queue-without-expiry': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/queue.lua',
    text: "  if errorOf(redis.pcall('PEXPIRE', queue, QUEUE_TTL_MS)) then\n",
    replacement: '  if false then\n',
    caughtBy: {
      file: 'packages/lab/test/acquiring/no-expiry.test.ts',
      test: 'ioredis > A6: no key without an expiry, over a storm of resets before and after commands',
    },
  },
  'queue-for-ever-where-an-acl-forbids-expiries': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/queue.lua',
    text: "  if errorOf(redis.pcall('PEXPIRE', queue, QUEUE_TTL_MS)) then\n",
    replacement: "  if redis.pcall('PEXPIRE', queue, QUEUE_TTL_MS) == nil then\n",
    caughtBy: {
      file: 'packages/lab/test/faults/scripts.test.ts',
      test: 'an ACL > 6: that forbids PEXPIRE: whoever waits leaves no key without an expiry, and gets the lock by asking',
    },
  },
  'failure-of-another-copy-is-a-fault': {
    file: 'packages/holdfast/src/store/failure.ts',
    text: "typeof value === 'object' && value !== null && BRAND in value",
    replacement: 'Function.prototype[Symbol.hasInstance].call(this, value)',
    caughtBy: {
      file: 'packages/holdfast/src/store/failure.test.ts',
      test: 'A2: a lost answer of a store of the other copy is asked for again, as one of the own',
    },
  },
  'stays-in-the-queue': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: 'if (this.#stands) this.#engine.leaveQueue(last.wish.address)',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/acquiring/wait-over.test.ts',
      test: 'ioredis > A7: two seconds after the wait ran out: no key of ours, no timer, no command',
    },
  },
  'abort-leaves-the-grant': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: 'this.#noteAttempts(this.#operation, true)',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/acquiring/aborted.test.ts',
      test: 'ioredis > A8: acquire aborted in flight ends at once, and the key it was granted goes',
    },
  },
  'closed-client-is-not-noticed': {
    file: 'packages/holdfast/src/stores/redis/lock-store.ts',
    text: 'this.#link.onEnd(() => listener.gap())',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/acquiring/aborted.test.ts',
      test: 'redis > A8: a client that its owner closes rejects who waits',
    },
  },
  'ttl-of-another-call': {
    file: 'packages/holdfast/src/lock/obtainer.ts',
    text: 'const wish: LockWish = { address, entry, ttl,',
    replacement: 'const wish: LockWish = { address, entry, ttl: this.#options.ttl,',
    caughtBy: {
      file: 'packages/lab/test/acquiring/two-ttls.test.ts',
      test: 'ioredis > A9: two callers of one lock object with ttl 600 and 60000: each has its own',
    },
  },
  'called-off-and-sent': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'call.items = call.items.filter((item) => !isAbandoned(item))',
    replacement: 'call.items = [...call.items]',
    caughtBy: {
      file: 'packages/lab/test/faults/no-connection.test.ts',
      test: 'ioredis > fault 32: a call aborted while there is no connection is never sent',
    },
  },
  'offline-queue': {
    file: 'packages/holdfast/src/stores/redis/ioredis.ts',
    text: "return this.#client.status === 'ready'",
    replacement: "return this.#client.status !== 'end'",
    caughtBy: {
      file: 'packages/lab/test/faults/no-connection.test.ts',
      test: 'ioredis > fault 31, 32: what was asked for without a connection is not sent when there is one again',
    },
  },
  'only-try-has-a-third-of-the-budget': {
    file: 'packages/holdfast/src/store/operation.ts',
    text: 'Math.min(tries, bounds.triesPerBudget)',
    replacement: 'bounds.triesPerBudget',
    caughtBy: {
      file: 'packages/holdfast/src/store/operation.test.ts',
      test: 'an operation > that may be tried once only waits for that one until the end of the budget',
    },
  },
  'no-budget-of-ours': {
    file: 'packages/holdfast/src/store/operation.ts',
    text: `    this.#schedule.put(this, now + Math.min(this.#budget / Math.min(tries, bounds.triesPerBudget), left))
`,
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/faults/silent-store.test.ts',
      test: 'a store that is silent > INV-H1: tryAcquire settles within 900 ms and a little',
    },
  },
  'noscript-is-an-error': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'if (isNoScript(error) && !call.whole) {',
    replacement: 'if (isNoScript(error) && call.whole) {',
    caughtBy: {
      file: 'packages/lab/test/faults/scripts.test.ts',
      test: 'ioredis > D12, fault 26: SCRIPT FLUSH between acquire, renewal, extend and release',
    },
  },
  'sha1-at-run-time': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'whole ? script.source : script.sha1',
    replacement:
      "whole ? script.source : process.getBuiltinModule('node:crypto').createHash('sha1').update(script.source).digest('hex')",
    caughtBy: {
      file: 'packages/lab/test/faults/scripts.test.ts',
      test: 'D12: a process without SHA-1 locks all the same',
    },
  },
  'refusal-taken-for-final': {
    file: 'packages/holdfast/src/stores/redis/refusal.ts',
    text: '  TRYAGAIN: { final: false,',
    replacement: '  TRYAGAIN: { final: true,',
    caughtBy: {
      file: 'packages/lab/test/faults/fake-refusals.test.ts',
      test: 'D13: TRYAGAIN, as it is > is worth a retry: told after the wait, outlasted within it, and no loss',
    },
  },
  'refusal-is-a-loss': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: "error.kind === 'refused') this.#unanswered = false",
    replacement: "error.kind === 'refused') this.lose('missing')",
    caughtBy: {
      file: 'packages/lab/test/faults/refusals.test.ts',
      test: 'D13: renewals refused with READONLY > for less than the lease: still held; for longer: lost at the deadline, not before',
    },
  },
  'refusal-of-a-copy-is-believed': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'return call.sentTwice ? new SentTwiceError(error) : error',
    replacement: 'return error instanceof SentTwiceError ? null : error',
    caughtBy: {
      file: 'packages/lab/test/faults/refusals.test.ts',
      test: 'D13: the reply to an acquire is lost, and the copy that the client sends again is refused (MASTERDOWN): not "not done"',
    },
  },
  'replies-of-others-believed': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'if (!Array.isArray(reply) || String(reply[1]) !== id)',
    replacement: "if (!Array.isArray(reply) || id === '')",
    caughtBy: {
      file: 'packages/lab/test/faults/mixed-replies.test.ts',
      test: 'replies to two acquires are swapped: neither is believed, and both are asked again',
    },
  },
  'mixed-up-connection-kept': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: "if (failure.reason === 'mixed-up') this.#port.distrust()",
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/faults/mixed-replies.test.ts',
      test: 'node-redis 5 shifts its replies by one: nothing false is believed, and the connection is given up',
    },
  },
  'wrong-type-unnamed': {
    file: 'packages/holdfast/src/stores/redis/lua/shared/read.lua',
    text: "if string.find(failure, 'WRONGTYPE', 1, true) then",
    replacement: 'if false then',
    caughtBy: {
      file: 'packages/lab/test/faults/fake-refusals.test.ts',
      test: 'a key of another type > a list: refused at first use, with what lies there',
    },
  },
  'release-reply-not-doubted': {
    file: 'packages/holdfast/src/lock/acquisition.ts',
    text: 'outcome.doubtful || outcome.answer.maybeTwice',
    replacement: 'false',
    caughtBy: {
      file: 'packages/lab/test/acquiring/delayed-request.test.ts',
      test: 'redis > D17: an acquire arrives after its release, within the budget: its key goes',
    },
  },
  'refusal-in-a-copy-is-believed': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: "item.fail(twice ? asUnknown(refusalOf(words[1] ?? '')) : refusalOf(words[1] ?? ''))",
    replacement: "item.fail(refusalOf(words[1] ?? ''))",
    caughtBy: {
      file: 'packages/lab/test/faults/refusals.test.ts',
      test: 'D13: the reply to an acquire is lost, and the copy that the client sends again is refused (READONLY): not "not done"',
    },
  },
  'owner-goes-on-after-its-compensation': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: '      waiter.acquisition?.abandon()\n      waiter.acquisition = null\n      return true',
    replacement:
      "      this.#engine.releaseOnce(wish.address, waiter.acquisition?.owner ?? '')\n      return true",
    caughtBy: {
      file: 'packages/lab/test/acquiring/late-answer.test.ts',
      test: 'an owner is never asked for again once a release was sent for it; no two hold; nothing is left',
    },
  },
  'one-call-in-flight': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: '  readonly #flush = (): void => {\n    this.#scheduled = false\n',
    replacement:
      '  readonly #flush = (): void => {\n    if (this.#inFlight > 0) return this.#flushLater()\n    this.#scheduled = false\n',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/gather.test.ts',
      test: 'a call > does not wait for the answer to an earlier one',
    },
  },
  'budget-of-the-smallest': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'Math.max(latest, attempt.until), 0)',
    replacement: 'Math.min(latest, attempt.until), Infinity)',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/gather.test.ts',
      test: 'the server’s time > the longest budget of its items is the call’s',
    },
  },
  'last-moment-of-the-smallest': {
    file: 'packages/holdfast/src/stores/redis/gather.ts',
    text: 'item.write(words, laterBy(item, earliest))',
    replacement: 'item.write(words, 0)',
    caughtBy: {
      file: 'packages/holdfast/src/stores/redis/gather.test.ts',
      test: 'the server’s time > until when the server may act is said once; an item with more time says how much more',
    },
  },
  'late-timer-gives-up': {
    file: 'packages/holdfast/src/store/operation.ts',
    text: 'const LATE_TIMER_MS = 10',
    replacement: 'const LATE_TIMER_MS = Infinity',
    caughtBy: {
      file: 'packages/holdfast/src/store/operation.test.ts',
      test: 'an operation > whose time ran out while the event loop was blocked first takes the answer that had arrived meanwhile',
    },
  },
  'told-by-the-monotonic-clock-only': {
    file: 'packages/holdfast/src/lock/granted-lease.ts',
    text: 'const end = Math.min(now.monotonic + millisecondsFrom(now, this.#deadline), this.#holdEnd)',
    replacement: 'const end = Math.min(this.#deadline.monotonic, this.#holdEnd)',
    caughtBy: {
      file: 'packages/holdfast/src/lock/stepped-clocks.test.ts',
      test: 'fault 7: the machine sleeps, and the monotonic clock with it > INV-T1: while its acquire was under way: the holder is told when the wall clock says that it is over',
    },
  },
  'older-lease-goes-on': {
    file: 'packages/holdfast/src/lock/engine.ts',
    text: 'if (other.fence < lease.fence) other.superseded()',
    replacement: 'if (other.fence < lease.fence) continue',
    caughtBy: {
      file: 'packages/holdfast/src/lock/loss.test.ts',
      test: 'a lock that passed on behind its holder’s back > known at once when this process is granted the key anew',
    },
  },
  'asks-twice-at-once': {
    file: 'packages/holdfast/src/lock/contention.ts',
    text: '    this.#wakeUp?.cancel()\n    this.#wakeUp = null\n',
    replacement: '',
    caughtBy: {
      file: 'packages/lab/test/acquiring/late-answer.test.ts',
      test: 'an owner is never asked for again once a release was sent for it; no two hold; nothing is left',
    },
  },
}
