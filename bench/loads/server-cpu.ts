import type { Bench } from '../bench.ts'

/** Processor time that the server has used so far, in microseconds. */
export async function serverCpu({ redis }: Bench): Promise<number> {
  const { used_cpu_user: user, used_cpu_sys: system } = await redis.info('cpu')
  return (Number(user) + Number(system)) * 1e6
}
