/** `node --import ./build/register.mjs packages/lab/src/failover/in-a-row-main.ts [CLIENT] [TIMES]`: ioredis5 and 10 when left out. */

import { clientKinds, type ClientKind } from '../clients.ts'
import { FailoversInARow, tableOf, type FailoverRound } from './in-a-row.ts'

const [wanted = 'ioredis5', times = '10'] = process.argv.slice(2)
const kind = clientKinds.find((each): each is ClientKind => each === wanted)
if (kind === undefined) throw new Error(`there is no client ${wanted}; there are ${clientKinds.join(', ')}`)

const drill = await FailoversInARow.start(kind)
const rounds: FailoverRound[] = []
try {
  for (let i = 0; i < Number(times); i += 1) rounds.push(await drill.round())
} finally {
  process.stdout.write(`${kind}\n${tableOf(rounds)}\n`)
  await drill.close()
}
