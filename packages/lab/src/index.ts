/** The kit: servers, workers, the proxy, and waiting. For tests and the demo. */

export { sleep, waitFor } from './wait.ts'

export { startRedis, RedisServer } from './servers/redis.ts'
export type { RedisOptions } from './servers/redis.ts'
export { redisUrlOrStart } from './servers/redis-url.ts'
export type { RedisToUse } from './servers/redis-url.ts'
export * as faults from './servers/faults.ts'
export { spawnWorker, Worker } from './servers/worker.ts'
export type { WorkerOptions } from './servers/worker.ts'
export { startProcess, OwnedProcess } from './servers/process.ts'
export { freePort } from './servers/free-port.ts'
export { ownFolder, owned, removeFolder } from './servers/lifetime.ts'

export { startProxy, TcpProxy } from './proxy/tcp-proxy.ts'
export type { HeldRequest } from './proxy/held-request.ts'
export type { ProxiedCommand } from './proxy/command.ts'

export { connectResp, RespConnection } from './resp/connection.ts'
export { RespError } from './resp/replies.ts'
