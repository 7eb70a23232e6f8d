/** Runs both accidents and reports them. */

import { sellCoupons } from './coupons/scene.ts'
import type { CouponResult } from './coupons/scene.ts'
import { reportCoupons } from './coupons/report.ts'
import type { DemoOptions } from './options.ts'
import { reportPayment } from './payment/report.ts'
import { payOnce } from './payment/scene.ts'
import type { PaymentResult } from './payment/scene.ts'
import { Progress } from './progress.ts'
import { endOnSignals } from './signals.ts'
import { prepareStage } from './stage.ts'
import { styleFor, widthFor } from './style.ts'
import type { Style } from './style.ts'
import { wrap } from './table.ts'

/** What `--json` prints. */
export interface DemoResult {
  readonly store: 'redis' | 'sqlite'
  readonly coupons: {
    readonly variants: readonly Pick<CouponResult, 'name' | 'sold' | 'oversold' | 'ms'>[]
  }
  readonly payment: {
    readonly variants: readonly Pick<PaymentResult, 'name' | 'charges' | 'staleWritesRefused'>[]
  }
}

/**
 * Runs the demo and prints it.
 *
 * @returns whether Holdfast kept what it promises: no coupon oversold, one charge
 * @throws NoStoreError when the store that was asked for cannot be had
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  // With --json stdout is for the object alone, and the report goes where the rest goes.
  const output = options.json ? process.stderr : process.stdout
  const print = (lines: readonly string[]) => void output.write(`${lines.join('\n')}\n`)
  const style = styleFor(output, process.env)
  const width = widthFor(output)
  const progress = new Progress(process.stderr)

  const stage = await prepareStage(options.store, (line) => void process.stderr.write(`${line}\n`))
  const signals = endOnSignals(() => stage.clear())
  try {
    print(['', `Two accidents, on real processes. Locks: ${stage.storeInWords}. About 20 seconds.`, ''])
    progress.show('coupons: starting the processes …')
    const coupons = await sellCoupons(stage, (name) => progress.show(`coupons: ${name} …`))
    progress.clear()
    print([...reportCoupons(coupons, width, style), ''])
    progress.show('payment: starting the processes …')
    const payment = await payOnce(stage, (name) => progress.show(`payment: ${name} …`))
    progress.clear()
    const result = resultOf(stage.locks.store, coupons, payment)
    const ending = ['', verdict(keptItsPromise(result), style), '', ...whatNext(width, style), '']
    print([...reportPayment(payment, width, style), ...ending])
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
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

function resultOf(
  store: DemoResult['store'],
  coupons: readonly CouponResult[],
  payment: readonly PaymentResult[],
): DemoResult {
  return {
    store,
    coupons: {
      variants: coupons.map(({ name, sold, oversold, ms }) => ({ name, sold, oversold, ms })),
    },
    payment: {
      variants: payment.map(({ name, charges, staleWritesRefused }) => ({
        name,
        charges,
        staleWritesRefused,
      })),
    },
  }
}

export function keptItsPromise({ coupons, payment }: DemoResult): boolean {
  const lock = coupons.variants.find(({ name }) => name === 'holdfast')
  const full = payment.variants.find(({ name }) => name === 'holdfast-full')
  return lock?.oversold === 0 && full?.charges === 1
}

function verdict(kept: boolean, style: Style): string {
  return kept
    ? style.good('  Holdfast kept its promise in this run: no coupon oversold, the order charged once.')
    : style.bad('  Holdfast did not keep its promise in this run. This must not happen: please report it.')
}

function whatNext(width: number, style: Style): string[] {
  const text =
    'What to read next: README.md for the ten lines that you need, the guide "How a lock fails, and what saves you" ' +
    'in docs/, and the code of every variant above, some thirty lines each, in ' +
    'packages/lab/src/demo/coupons/variants and packages/lab/src/demo/payment/variants.'
  return wrap(text, width - 2).map((line) => style.dim(`  ${line}`))
}
