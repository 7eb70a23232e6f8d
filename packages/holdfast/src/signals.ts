import { constants } from 'node:os'
import { InvalidArgumentError } from './errors.ts'

/** Marks our own listeners, also those of another instance or copy of the library. */
const OURS = Symbol.for('holdfast.closeOn')

/**
 * Closes on the signals named, and then lets the signal end the process as it would have, so that the exit status is kept.
 * Where others listen to the signal too, ending is left to them; several instances end it when the last has closed.
 *
 * @param names as {@link checkSignals} gave them
 * @returns a function that stops listening
 */
export function closeOnSignals(names: readonly NodeJS.Signals[], close: () => Promise<void>): () => void {
  let closing = false
  const stop = (): void => {
    for (const name of names) process.off(name, onSignal)
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    if (closing) return
    closing = true
    // Looked at now: those who listen once are gone when it has closed.
    const others = process.listeners(signal).some((listener) => !(OURS in listener))
    void close().finally(() => {
      stop()
      if (!others && process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
  Object.defineProperty(onSignal, OURS, { value: true })
  // Before all others, so that they are still there to be seen.
  for (const name of names) process.prependListener(name, onSignal)
  // While it closes it goes on listening: else another instance that is done earlier would end the process.
  return () => {
    if (!closing) stop()
  }
}

/** These end or stop a process without its knowing. */
const NEVER_HEARD: readonly string[] = ['SIGKILL', 'SIGSTOP']

/** @throws InvalidArgumentError for something that is not a list of signals */
export function checkSignals(signals: unknown): readonly NodeJS.Signals[] {
  const known =
    Array.isArray(signals) &&
    signals.every(
      (name) => typeof name === 'string' && name in constants.signals && !NEVER_HEARD.includes(name),
    )
  if (known) return [...new Set(signals as NodeJS.Signals[])]
  throw new InvalidArgumentError('closeOn', signals, {
    problem: 'is not a list of signals that a process can hear',
    remedy: "Give names of signals, as ['SIGTERM'].",
  })
}
