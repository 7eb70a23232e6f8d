import { concurrency, RateLimitedError, type Holdfast } from 'holdfast'

/** Two reports of a tenant at once, over all instances. Who finds both places taken waits up to ten seconds. */
export function makeReports(hf: Holdfast, make: (tenant: string, signal?: AbortSignal) => Promise<string>) {
  const reports = hf.limiter('reports', concurrency({ limit: 2, lease: '30s' }))
  return async (tenant: string) => {
    try {
      // The signal aborts should the place be lost: the store forgot it, or could not be reached for a lease.
      return await reports.run(tenant, ({ slot }) => make(tenant, slot?.signal), { wait: '10s' })
    } catch (error) {
      if (error instanceof RateLimitedError) return null
      throw error
    }
  }
}
