import { constants } from 'node:os'
import { InvalidArgumentError } from './errors.ts'

/**
 * Closes on the signals named, and then lets the signal end the process as it would have, so that the exit status is kept.
 * Where others listen to the signal too, ending is left to them.
 *
 * @returns a function that stops listening
 * @throws InvalidArgumentError for something that is not a list of signals
 */
export function closeOnSignals(signals: unknown, close: () => Promise<void>): () => void {
  const names = checkSignals(signals)
  const onSignal = (signal: NodeJS.Signals): void => {
    void close().finally(() => {
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
  for (const name of names) process.on(name, onSignal)
  return () => {
    for (const name of names) process.off(name, onSignal)
  }
}

function checkSignals(signals: unknown): readonly NodeJS.Signals[] {
  const known =
    Array.isArray(signals) && signals.every((name) => typeof name === 'string' && name in constants.signals)
  if (known) return [...new Set(signals as NodeJS.Signals[])]
  throw new InvalidArgumentError('closeOn', signals, {
    problem: 'is not a list of signals',
    remedy: "Give names of signals, as ['SIGTERM'].",
  })
}
