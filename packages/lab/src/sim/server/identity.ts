import { createHash } from 'node:crypto'

const MICROS_PER_SECOND = 1_000_000
/** What stands for no replication id. */
const NONE = '0'.repeat(40)
/** A server of which nobody says otherwise has been up for so long. */
const LONG_MICROS = 30 * 86_400 * MICROS_PER_SECOND

/** An id that looks as Redis' do, and is the same in every run. */
const idFrom = (text: string): string => createHash('sha1').update(text).digest('hex')

/**
 * Who a server is, as its INFO tells it: a run id that changes with every start, a replication id that changes whenever it begins to be a
 * primary. Never changed itself.
 */
export class ServerIdentity {
  readonly run: string
  readonly startedMicros: number
  /** Its replication id, and the one that it had before it was promoted. */
  readonly copies: string
  readonly copiesBefore: string

  constructor(run: string, startedMicros: number, copies: string, copiesBefore = NONE) {
    this.run = run
    this.startedMicros = startedMicros
    this.copies = copies
    this.copiesBefore = copiesBefore
  }

  /** A server that has been up for long, and never was a replica. */
  static old(nowMicros: number): ServerIdentity {
    return new ServerIdentity(idFrom('run'), nowMicros - LONG_MICROS, idFrom('copies'))
  }

  /** The same server after it was started again, as a primary. */
  startedAgain(nowMicros: number): ServerIdentity {
    return new ServerIdentity(idFrom(`again ${this.run}`), nowMicros, idFrom(`again ${this.copies}`))
  }

  /** A replica of this one that takes over, and was started then. @param run its run id; a new one when left out */
  successor(startedMicros: number, run = idFrom(`replica ${this.run}`)): ServerIdentity {
    return new ServerIdentity(run, startedMicros, idFrom(`promoted ${this.copies}`), this.copies)
  }

  /** What INFO says of one of its sections, or of all; as much as anybody here asks for. */
  info(section: string | null, nowMicros: number): string {
    const uptime =
      Math.floor(nowMicros / MICROS_PER_SECOND) - Math.floor(this.startedMicros / MICROS_PER_SECOND)
    const lines = {
      server: [`run_id:${this.run}`, `uptime_in_seconds:${Math.max(0, uptime)}`],
      replication: ['role:master', `master_replid:${this.copies}`, `master_replid2:${this.copiesBefore}`],
    }
    const wanted = Object.entries(lines).filter(([name]) => section === null || section === name)
    return wanted.flatMap(([, texts]) => texts.map((text) => `${text}\r\n`)).join('')
  }
}
