import { checkMutants } from './check.mjs'
import { clusterMutants } from './cluster.mjs'
import { failoverMutants } from './failover.mjs'
import { guardMutants } from './guards.mjs'
import { limitMutants } from './limits.mjs'
import { lockAllMutants } from './lock-all.mjs'
import { lockMutants } from './locks.mjs'
import { mysqlMutants } from './mysql.mjs'
import { onceHttpMutants } from './once-http.mjs'
import { onceMutants } from './once.mjs'
import { postgresMutants } from './postgres.mjs'
import { quorumMutants } from './quorum.mjs'
import { simMutants } from './sim.mjs'

/**
 * The library broken on purpose. Each entry must be caught by the test it names; mutants.test.ts proves it.
 * @type {Record<string, import('../../build/mutation.mjs').Mutant>}
 */
export const mutants = {
  ...checkMutants,
  ...lockMutants,
  ...lockAllMutants,
  ...clusterMutants,
  ...limitMutants,
  ...onceMutants,
  ...onceHttpMutants,
  ...failoverMutants,
  ...guardMutants,
  ...mysqlMutants,
  ...postgresMutants,
  ...quorumMutants,
  ...simMutants,
}
