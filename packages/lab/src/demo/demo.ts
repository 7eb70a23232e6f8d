/** Runs the accidents that were asked for and reports them. */

import { sellCoupons } from './coupons/scene.ts'
import type { CouponResult } from './coupons/scene.ts'
import { reportCoupons } from './coupons/report.ts'
import { failOver } from './failover/scene.ts'
import type { FailoverSummary } from './failover/scene.ts'
import { reportFailover } from './failover/report.ts'
import { reportLimits } from './limit/report.ts'
import { limitOneUser } from './limit/scene.ts'
import { limitSummary } from './limit/summary.ts'
import type { LimitSummary } from './limit/summary.ts'
import type { DemoOptions, SceneName, StoreName } from './options.ts'
import { reportPayment } from './payment/report.ts'
import { payOnce } from './payment/scene.ts'
import type { PaymentResult } from './payment/scene.ts'
import { defaultBinary, majorVersion } from '../servers/redis-config.ts'
import { Progress } from './progress.ts'
import { endOnSignals } from './signals.ts'
import { NoStoreError, prepareStage } from './stage.ts'
import type { Stage } from './stage.ts'
import { styleFor, widthFor } from './style.ts'
import type { Style } from './style.ts'
import { wrap } from './table.ts'
import { keptItsPromise, verdict } from './verdict.ts'

/** What `--json` prints: the store, and what was shown. */
export interface DemoResult {
  readonly store: StoreName
  readonly coupons?: {
    readonly variants: readonly Pick<CouponResult, 'name' | 'sold' | 'oversold' | 'ms'>[]
  }
  readonly payment?: {
    readonly variants: readonly Pick<PaymentResult, 'name' | 'charges' | 'staleWritesRefused'>[]
  }
  readonly limit?: LimitSummary
  readonly failover?: FailoverSummary
}

/** One accident: its part of the result, and its report. */
interface Shown {
  readonly result: Omit<DemoResult, 'store'>
  readonly report: readonly string[]
}

type Show = (stage: Stage, progress: (variant: string) => void, width: number, style: Style) => Promise<Shown>

/** In seconds on a machine that has little else to do. */
const SECONDS: Readonly<Record<SceneName, number>> = { coupons: 11, payment: 9, limit: 14, failover: 9 }

const shows: Readonly<Record<SceneName, Show>> = {
  async coupons(stage, progress, width, style) {
    const results = await sellCoupons(stage, progress)
    const variants = results.map(({ name, sold, oversold, ms }) => ({ name, sold, oversold, ms }))
    return { result: { coupons: { variants } }, report: reportCoupons(results, width, style) }
  },
  async payment(stage, progress, width, style) {
    const results = await payOnce(stage, progress)
    const variants = results.map(({ name, charges, staleWritesRefused }) => ({
      name,
      charges,
      staleWritesRefused,
    }))
    return { result: { payment: { variants } }, report: reportPayment(results, width, style) }
  },
  async limit(stage, progress, width, style) {
    const results = await limitOneUser(stage, progress)
    const report = reportLimits(results, stage.place.store, width, style)
    return { result: { limit: limitSummary(results) }, report }
  },
  async failover(_stage, progress, width, style) {
    const results = await failOver(progress)
    const variants = results.map(({ name, grantedTwice, staleWrites }) => ({
      name,
      grantedTwice,
      staleWrites,
    }))
    return { result: { failover: { variants } }, report: reportFailover(results, width, style) }
  },
}

/**
 * Runs the demo and prints it.
 *
 * @returns whether Holdfast kept what it promises: no coupon oversold, one charge, no minute with too much in it, no lock twice
 * @throws NoStoreError when the store that was asked for cannot be had
 */
export async function runDemo({ scenes: wished, json, store }: DemoOptions): Promise<boolean> {
  // With --json stdout is for the object alone, and the report goes where the rest goes.
  const output = json ? process.stderr : process.stdout
  const print = (lines: readonly string[]) => void output.write(`${lines.join('\n')}\n`)
  const style = styleFor(output, process.env)
  const width = widthFor(output)
  const progress = new Progress(process.stderr)

  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const stage = await prepareStage(store, say)
  const scenes = await playable(wished, stage, say)
  const signals = endOnSignals(() => stage.clear())
  try {
    print(['', ...wrap(opening(scenes, stage.storeInWords), width), ''])
    let result: DemoResult = { store: stage.place.store }
    for (const scene of scenes) {
      progress.show(`${scene}: starting the processes …`)
      const tell = (variant: string) => progress.show(`${scene}: ${variant} …`)
      const shown = await shows[scene](stage, tell, width, style)
      progress.clear()
      print([...shown.report, ''])
      result = { ...result, ...shown.result }
    }
    print([verdict(result, style), '', ...whatNext(scenes, width, style), ''])
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
    return keptItsPromise(result)
  } catch (error) {
    if (signals.leaving) return await new Promise(() => {})
    throw error
  } finally {
    progress.clear()
    signals.stop()
    await stage.clear()
  }
}

const COUNTS = ['No accident', 'An accident', 'Two accidents', 'Three accidents', 'Four accidents']

/** A failover needs servers of our own. With a file as the store it is shown to those who named it. */
async function playable(
  wished: readonly SceneName[],
  stage: Stage,
  say: (line: string) => void,
): Promise<readonly SceneName[]> {
  if (!wished.includes('failover')) return wished
  const rest = wished.filter((scene) => scene !== 'failover')
  if (rest.length > 0 && stage.place.store === 'sqlite') return rest
  try {
    await majorVersion(defaultBinary())
    return wished
  } catch (error) {
    if (rest.length === 0) throw new NoStoreError((error as Error).message, { cause: error })
    say('Without redis-server on the PATH the failover is not shown.')
    return rest
  }
}

function opening(scenes: readonly SceneName[], storeInWords: string): string {
  const count = COUNTS[scenes.length]
  const seconds = scenes.reduce((sum, scene) => sum + SECONDS[scene], 0)
  return `${count}, on real processes. Store: ${storeInWords}. About ${seconds} seconds.`
}

function whatNext(scenes: readonly SceneName[], width: number, style: Style): string[] {
  const guides = [
    ...(scenes.some((scene) => scene === 'coupons' || scene === 'payment')
      ? ['"How a lock fails, and what saves you"']
      : []),
    ...(scenes.includes('limit') ? ['"Which limiter?"'] : []),
    ...(scenes.includes('failover') ? ['"Which guarantee under which deployment"'] : []),
  ]
  const folders = scenes.map((scene) =>
    scene === 'failover' ? 'packages/lab/src/failover' : `packages/lab/src/demo/${scene}/variants`,
  )
  const text =
    `What to read next: README.md for the ten lines that you need, in docs/ the ${guides.length > 1 ? 'guides' : 'guide'} ` +
    `${guides.join(', ')}, and the code of every variant above, some thirty lines each, in ${folders.join(', ')}.`
  return wrap(text, width - 2).map((line) => style.dim(`  ${line}`))
}
