import { LIMIT, MINUTE } from '../gate.ts'
import type { AskGate, Gate } from '../gate.ts'

/**
 * A script over a sorted set of times: drop what is older than a minute, count, add. One atomic step, and a true sliding
 * window.
 *
 * What is wrong: the time comes from the caller. To a process whose clock is a minute ahead everything that the others counted
 * is older than a minute, so each of its requests throws that away. Its own entries lie in the future of all others, where they
 * count for two minutes instead of one.
 */
export function callersClocks(gate: Gate): AskGate {
  const { addIfRoom } = gate.commands
  if (addIfRoom === null) throw new Error('this store has no callers with clocks of their own')
  const key = gate.key('callers-clocks')
  return () => addIfRoom(key, { member: gate.newMember(), time: gate.time(), window: MINUTE, limit: LIMIT })
}
