/** A worker for the tests of workers. */

import { serveWorker, tell } from '../../../src/servers/worker-side.ts'
import type { Json } from '../../../src/servers/worker-side.ts'

let ticks = 0
setInterval(() => ticks++, 5)

serveWorker({
  echo: (...args: Json[]) => args,
  async later(value: Json) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return value
  },
  ticks: () => ticks,
  fail() {
    throw Object.assign(new TypeError('as asked'), { code: 'AS_ASKED' })
  },
  complain: (text: string) => void process.stderr.write(text),
  tell: (event: string, data: Json) => tell(event, data),
  environment: (name: string) => process.env[name] ?? null,
  argv: () => process.argv.slice(2),
  never: () => new Promise(() => {}),
})
