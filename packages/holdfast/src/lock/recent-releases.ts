import { bounds } from '../defaults.ts'
import { lockAddress } from '../name.ts'
import type { OwnerAsk } from '../store/contract.ts'
import type { LockEngine } from './engine.ts'

/** Between two tries, at most, in milliseconds. */
const LONGEST_PAUSE = 1_000

/** Bytes for one release; a longer one, of a very long name, is kept as text. */
const SLOT_BYTES = 256

/**
 * The last releases that were answered. A server that lost its last writes (a replica that took over, a restart from an older
 * file) has such locks again, for owners that nobody holds any more: they are released once more. Bounded in number and in age;
 * what is older, or came before the last thousand, stands until its ttl.
 *
 * They are kept as bytes, in a ring: objects that live on for a thousand releases are a fifth of what a lock costs, in the collector.
 */
export class RecentReleases {
  readonly #engine: LockEngine
  readonly #lengths = new Uint16Array(bounds.recentReleases)
  /** Monotonic milliseconds; -Infinity where there was none. */
  readonly #times = new Float64Array(bounds.recentReleases).fill(-Infinity)
  /** What does not fit, by its place in the ring. */
  readonly #long = new Map<number, string>()
  /** Made with the first release. */
  #bytes: Buffer | null = null
  #next = 0
  /** How often they were repeated: who repeats for an earlier time ends. */
  #round = 0

  constructor(engine: LockEngine) {
    this.#engine = engine
  }

  add(release: OwnerAsk): void {
    const text = textOf(release)
    const at = this.#next
    this.#next = (at + 1) % bounds.recentReleases
    this.#times[at] = this.#engine.clock.monotonic()
    this.#bytes ??= Buffer.allocUnsafeSlow(bounds.recentReleases * SLOT_BYTES)
    // A UTF-16 unit takes at most three bytes, so most need no counting.
    if (text.length * 3 <= SLOT_BYTES || Buffer.byteLength(text) <= SLOT_BYTES) {
      this.#lengths[at] = this.#bytes.write(text, at * SLOT_BYTES)
      if (this.#long.size > 0) this.#long.delete(at)
    } else {
      this.#long.set(at, text)
    }
  }

  /**
   * Sends those that are not too old once more, in the background: one call for many. Nobody is told anything: an owner is
   * never used again after its release, so that there is nothing else that this could take.
   */
  repeat(): void {
    this.#round += 1
    const since = this.#engine.clock.monotonic() - bounds.releaseIsRecent
    for (const [at, time] of this.#times.entries()) {
      if (time >= since) this.#engine.inBackground(this.#repeat(releaseOf(this.#textAt(at)), this.#round))
    }
  }

  #textAt(at: number): string {
    const start = at * SLOT_BYTES
    return (
      this.#long.get(at) ?? this.#bytes?.toString('utf8', start, start + (this.#lengths[at] as number)) ?? ''
    )
  }

  /** Asks again while the server is not to be had, as one that still loads its data. */
  async #repeat({ address, owner }: OwnerAsk, round: number): Promise<void> {
    const engine = this.#engine
    const giveUpAt = engine.clock.monotonic() + bounds.releaseIsRecent
    let pause: number = bounds.pauseBetweenTries
    for (;;) {
      const outcome = await engine.release(address, owner, { background: true, repeated: true })
      if (outcome.kind === 'done' || outcome.failure.final || this.#round !== round) return
      pause = Math.min(LONGEST_PAUSE, pause * 2)
      if (engine.closed || engine.clock.monotonic() >= giveUpAt) return
      await engine.pause(pause)
      if (engine.closed) return
    }
  }
}

/** A prefix and an owner hold no space. */
function textOf({ address, owner }: OwnerAsk): string {
  const { prefix, name, exactKey } = address
  return `${prefix} ${owner} ${name.length} ${name}${exactKey ?? ''}`
}

function releaseOf(text: string): OwnerAsk {
  const [, prefix = '', owner = '', length, rest = ''] = /^(\S+) (\S+) (\d+) (.*)$/s.exec(text) ?? []
  const name = rest.slice(0, Number(length))
  const exactKey = rest.slice(name.length)
  return { address: lockAddress(prefix, name, exactKey === '' ? undefined : exactKey), owner }
}
