import { serveWorker } from '../../../packages/lab/src/servers/worker-side.ts'
import { onces, type OnceName } from '../../contenders/once/index.ts'
import type { Once } from '../../contenders/once/once.ts'
import { burst, runRuns, warmUp, type RunsWish } from './runs.ts'

/** A client process of one that runs work once. It measures; the parent says what, and when. */

export interface OpenOnceWish {
  readonly once: OnceName
  readonly url: string
}

let once: Once | undefined

function opened(): Once {
  if (once === undefined) throw new Error('nothing is open')
  return once
}

async function close(): Promise<void> {
  await once?.close()
  once = undefined
}

serveWorker({
  close,
  async open({ once: name, url }: OpenOnceWish) {
    await close()
    once = await onces[name].open(url)
  },
  warmUp: (share: number) => warmUp(opened(), share),
  runs: (wish: RunsWish) => runRuns(opened(), wish),
  burst: (key: string, callers: number) => burst(opened(), key, callers),
})
