import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

/** Runs something under the CPU profiler, as `node --cpu-prof` would, but only that, and writes the profile to a file. */
export async function profiled<T>(file: string, work: () => Promise<T>): Promise<T> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 200 })
    await session.post('Profiler.start')
    const result = await work()
    const { profile } = await session.post('Profiler.stop')
    writeFileSync(file, JSON.stringify(profile))
    return result
  } finally {
    session.disconnect()
  }
}
