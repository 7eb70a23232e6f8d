import type { Clock } from './clock.ts'

/**
 * The answer, or `null` when it is an error or does not come in time.
 *
 * @param until monotonic milliseconds
 */
export function answered(reply: Promise<unknown>, clock: Clock, until: number): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(() => resolve(null), Math.max(0, until - clock.monotonic()), {
      keepAlive: true,
    })
    reply.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      () => {
        timer.cancel()
        resolve(null)
      },
    )
  })
}
