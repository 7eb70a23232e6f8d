import { describe, expect, test } from 'vitest'
import { reportCoupons } from '../../src/demo/coupons/report.ts'
import type { CouponResult } from '../../src/demo/coupons/scene.ts'
import { reportPayment } from '../../src/demo/payment/report.ts'
import type { PaymentResult } from '../../src/demo/payment/scene.ts'
import type { Entry } from '../../src/demo/log.ts'
import { tellStory } from '../../src/demo/story.ts'
import { noColour } from '../../src/demo/style.ts'
import { keptItsPromise, verdict } from '../../src/demo/verdict.ts'
import { at, hold, inOrder } from './support.ts'

/** Goal: every run is told as it was, whether a variant failed in it or not. */

function coupons(name: CouponResult['name'], log: Entry[], parts: Partial<CouponResult> = {}): string {
  const story = tellStory(inOrder(...log))
  const result = { name, sold: 100, oversold: 0, ms: 5, stockLeft: 0, gaveUp: 0, ...parts, story }
  return reportCoupons([result], 99, noColour).join('\n').replace(/\s+/g, ' ')
}

function payment(name: PaymentResult['name'], log: Entry[], parts: Partial<PaymentResult> = {}): string {
  const result = { name, charges: 1, staleWritesRefused: 0, ...parts, log: inOrder(...log) }
  return reportPayment([result], 99, noColour).join('\n')
}

describe('the coupons', () => {
  const alone = [...hold('P1', 0, 10, 200), ...hold('P2', 20, 30, 200)]
  const late = [...hold('P1', 0, 400, 200), ...hold('P2', 210, 220, 200)]

  test.each(['none', 'local-mutex', 'setnx-del', 'get-then-del'] as const)(
    '%s that went well is shown as going well',
    (name) => {
      const text = coupons(name, alone)
      expect(text).toContain('luck')
      expect(text).toContain(`${name} 100 0 5 `)
    },
  )

  test('a lock that expired: how often, what of it, and what the stock says', () => {
    const text = coupons('get-then-del', late, { sold: 101, oversold: 1, stockLeft: 3 })
    expect(text).toContain('1 lock expired under its holder; 1 buyer came in while another was at work.')
    expect(text).toContain('The stock still shows 3.')
    expect(text).toContain('around the first lock that expired under its holder')
  })

  test('a foreign delete is told', () => {
    const log = [...late, at(402, 'P1', { what: 'deleted', sent: 401, found: true })]
    expect(coupons('setnx-del', log)).toContain("1 DEL hit another's lock")
  })

  test('buyers who waited in vain are counted aloud', () => {
    const text = coupons('holdfast', alone, { sold: 98, gaveUp: 2 })
    expect(text).toContain('Only 98 were sold. 2 buyers waited in vain.')
  })

  test('Holdfast: renewed, or lost and told', () => {
    expect(coupons('holdfast', hold('P1', 0, 400))).toContain(
      'The longest hold was 0.40 s: renewed in time. Nobody ever met another.',
    )
    const lost = [...hold('P1', 0, 300), at(301, 'P1', { what: 'told' }), at(302, 'P1', { what: 'refused' })]
    expect(coupons('holdfast', lost)).toContain(
      '1 holder lost the lock and was told, 1 late write refused; tried again.',
    )
  })
})

describe('the payment', () => {
  const late = [
    at(0, 'P1', { what: 'granted', ttl: 600 }),
    at(0, 'P1', { what: 'enters' }),
    at(1, 'P1', { what: 'blocked', ms: 1_200, leaseLeft: null }),
    at(900, 'P2', { what: 'granted', ttl: 600 }),
    at(901, 'P2', { what: 'enters' }),
    at(1_201, 'P1', { what: 'charges' }),
    at(1_260, 'P1', { what: 'leaves' }),
    at(1_262, 'P1', { what: 'deleted', sent: 1_261, found: true }),
    at(1_310, 'P2', { what: 'charges' }),
    at(1_360, 'P2', { what: 'leaves' }),
    at(1_362, 'P2', { what: 'deleted', sent: 1_361, found: false }),
  ]

  test('a late holder with a bare DEL, from line to line', () => {
    const text = payment('bare-del', late, { charges: 2 })
    expect(text.slice(text.lastIndexOf('0.0 s')).split('\n').slice(1)).toEqual([
      '     0.00 s  P1 takes the lock',
      '     0.00 s  P1 stands still for 1.20 s: its event loop is blocked',
      '     0.60 s  the lock of P1 expires',
      '     0.90 s  P2 takes the lock; P1 is still at work',
      '     1.20 s  P1 charges',
      '     1.26 s  P1 sends DEL, and deletes the lock of another process',
      '     1.31 s  P2 charges again',
      '     1.36 s  P2 sends DEL; there is nothing to delete',
    ])
    expect(text).toContain('Charged 2 times')
  })

  test('one that went well is shown as going well', () => {
    expect(payment('bare-del', hold('P1', 0, 100, 600))).toContain('Charged once this time: luck.')
    expect(payment('holdfast', hold('P1', 0, 100))).toContain('no lock was lost this time')
    expect(payment('holdfast-full', hold('P1', 0, 100))).toContain('no write came late this time')
  })

  test('the lock alone: told, and said what it cannot do', () => {
    const text = payment('holdfast', [...hold('P1', 0, 1_200), at(1_201, 'P1', { what: 'told' })])
    expect(text).toContain('P1 is told that the lock is lost, and does not charge')
    expect(text.replace(/\s+/g, ' ')).toContain('a lock narrows this gap and cannot close it')
  })

  test('the whole: the late write is refused', () => {
    const log = [...hold('P1', 0, 1_200), at(1_201, 'P1', { what: 'refused' })]
    const text = payment('holdfast-full', log, { staleWritesRefused: 1 })
    expect(text).toContain('P1 tries to write, late; the order refuses its fence')
    expect(text.replace(/\s+/g, ' ')).toContain('the order refused it')
  })
})

test('the verdict looks at the coupons of the lock and the charges of the whole', () => {
  const result = (oversold: number, charges: number) =>
    keptItsPromise({
      store: 'redis',
      coupons: { variants: [{ name: 'holdfast', sold: 100, oversold, ms: 1 }] },
      payment: { variants: [{ name: 'holdfast-full', charges, staleWritesRefused: 0 }] },
    })
  expect([result(0, 1), result(1, 1), result(0, 0), result(0, 2)]).toEqual([true, false, false, false])
})

test('the verdict tells of what was shown, and of nothing else', () => {
  const payment = { variants: [{ name: 'holdfast-full', charges: 1, staleWritesRefused: 0 }] } as const
  expect(keptItsPromise({ store: 'redis', payment })).toBe(true)
  expect(verdict({ store: 'redis', payment }, noColour)).toBe(
    '  Holdfast kept its promise in this run: the order charged once.',
  )
})
