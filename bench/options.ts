import { parseArgs } from 'node:util'

export const HELP = `npm run bench [-- options]

  --quick           fewer and shorter rounds, only loads with a target, in under two minutes
  --only ID         only rows of that id or below it, as cycle/64 or contended/4p-16w-1ms; may be given again.
                    Nothing is written then.
  --rounds N        another number of rounds
  --no-peers        only ours and the floor
  --check           exit code 1 when a target was missed
  --profile LOAD    takes CPU profiles of ours and of the floor at cycle/N, contended/Pp-Ww-Tms or limit/N/SHAPE, and
                    says where the time goes
  --list            the loads, without running them
  --help            this
`

export interface Options {
  readonly quick: boolean
  readonly only: readonly string[]
  readonly rounds: number | null
  readonly peers: boolean
  readonly check: boolean
  readonly profile: string | null
  readonly list: boolean
  readonly help: boolean
}

/** @throws UsageError for an option that is not known, or a value that cannot be */
export function readOptions(args: readonly string[]): Options {
  const { values } = parse(args)
  const { rounds } = values
  if (rounds !== undefined && !/^[1-9]\d?$/.test(rounds)) {
    throw new UsageError(`--rounds ${rounds}: give a number from 1 to 99`)
  }
  return {
    quick: values.quick,
    only: values.only,
    rounds: rounds === undefined ? null : Number(rounds),
    peers: !values['no-peers'],
    check: values.check,
    profile: values.profile ?? null,
    list: values.list,
    help: values.help,
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      options: {
        quick: flag,
        only: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        'no-peers': flag,
        check: flag,
        profile: { type: 'string' },
        list: flag,
        help: { ...flag, short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** What was asked for cannot be done; its message is for the user. */
export class UsageError extends Error {}
