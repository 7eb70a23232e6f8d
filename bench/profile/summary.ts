import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What is used of a `.cpuprofile`, as Node and Chrome write it. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  /** The id of the node that was running, at each sample. */
  readonly samples: readonly number[]
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[]
}

export interface Share {
  readonly what: string
  /** Of the time in which something ran, 0 to 1. */
  readonly share: number
}

export interface ProfileSummary {
  /** Of the whole time. */
  readonly idle: number
  /** Self time of functions, largest first. */
  readonly functions: readonly Share[]
  /** Self time by the package, or the part of Node, in which it was spent; largest first. */
  readonly places: readonly Share[]
}

/** Self time: what a function did itself, without what it called. Idle time is left out of the shares. */
export function summarise(profile: CpuProfile, root: string): ProfileSummary {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const byFunction = new Map<string, number>()
  const byPlace = new Map<string, number>()
  let idle = 0
  let busy = 0
  profile.samples.forEach((id, i) => {
    const frame = frames.get(id)
    const time = Math.max(0, profile.timeDeltas[i] ?? 0)
    if (frame === undefined || isProfiler(frame)) return
    if (frame.functionName === '(idle)') {
      idle += time
      return
    }
    busy += time
    const name = frame.functionName === '' ? '(anonymous)' : frame.functionName
    const file = fileOf(frame.url, root)
    const where = file === '' ? name : `${name}  ${file}:${frame.lineNumber + 1}`
    add(byFunction, where, time)
    add(byPlace, placeOf(name, file), time)
  })
  return {
    idle: idle / (idle + busy),
    functions: sharesOf(byFunction, busy),
    places: sharesOf(byPlace, busy),
  }
}

/** The profiler's own start and stop. */
function isProfiler({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): boolean {
  return functionName === 'dispatch' && (url === '' || url === 'node:inspector')
}

function add(times: Map<string, number>, key: string, time: number): void {
  times.set(key, (times.get(key) ?? 0) + time)
}

function sharesOf(times: ReadonlyMap<string, number>, total: number): Share[] {
  return [...times].map(([what, time]) => ({ what, share: time / total })).sort((a, b) => b.share - a.share)
}

/** A path from the root of the repository, or `node:net`, or nothing for what is no file. */
function fileOf(url: string, root: string): string {
  return url.startsWith('file:')
    ? relative(root, fileURLToPath(url))
    : url.replace(/^.*\/(?=node_modules\/)/, '')
}

/** Native code has no file: writing to the socket, the collector, promises. */
function placeOf(name: string, file: string): string {
  if (file === '') return name.startsWith('(') ? name : `native: ${name}`
  if (file.startsWith('node:')) return 'Node'
  const [, dependency] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? []
  return dependency ?? file.split('/').slice(0, 2).join('/')
}

const MOST_FUNCTIONS = 20

/** The summary as text. */
export function summaryText(title: string, { idle, functions, places }: ProfileSummary): string {
  const line = ({ what, share }: Share) => `${(share * 100).toFixed(1).padStart(6)} %  ${what}`
  return [
    `${title}: self time, of the time in which something ran (idle ${(idle * 100).toFixed(0)} %)`,
    ...places.filter(({ share }) => share >= 0.01).map(line),
    '',
    ...functions.slice(0, MOST_FUNCTIONS).map(line),
    '',
  ].join('\n')
}
