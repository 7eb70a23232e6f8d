/** Ctrl-C in the middle of the demo. */

import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** How long tidying up may take, in milliseconds. Whatever is left then ends with the process. */
const PATIENCE = 3_000

/** What listens. */
export interface SignalWatch {
  /** Whether the process is leaving. What fails now fails for that reason. */
  readonly leaving: boolean
  stop(): void
}

/** On Ctrl-C, SIGTERM or a closed terminal: tidies up, and leaves with the status that the signal has. */
export function endOnSignals(tidyUp: () => Promise<void>): SignalWatch {
  let leaving = false
  const onSignal = (signal: (typeof SIGNALS)[number]): void => {
    stop()
    leaving = true
    const leave = () => process.exit(128 + constants.signals[signal])
    setTimeout(leave, PATIENCE)
    void tidyUp().finally(leave)
  }
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    get leaving() {
      return leaving
    },
    stop,
  }
}
