import { listen, type HoldfastEvents } from 'holdfast'

/** Somebody was told that another server answers. Run and replication ids as in INFO. */
export type EpochNote = HoldfastEvents['holdfast:store:epoch']

/** A process asked who is at the other end. World time in milliseconds. */
export interface LookNote {
  readonly process: string
  readonly time: number
}

/** What a world's processes asked of servers about themselves, and were told by event. */
export class Epochs {
  readonly told: EpochNote[] = []
  readonly looks: LookNote[] = []

  /** Until the returned function is called. */
  listen(): () => void {
    return listen('holdfast:store:epoch', (event) => this.told.push(event))
  }
}
