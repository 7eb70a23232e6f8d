import { expect, test } from 'vitest'
import { seededRandomness } from './seeded-randomness.ts'

test('the same seed gives the same randomness, another one another', () => {
  const draw = (seed: number) => {
    const randomness = seededRandomness(seed)
    return [randomness.fraction(), randomness.id(14), randomness.fraction()]
  }
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

test('fractions are spread over 0 to 1, ids are of the asked length', () => {
  const randomness = seededRandomness(1)
  const fractions = Array.from({ length: 10_000 }, () => randomness.fraction())
  expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...fractions)).toBeLessThan(1)
  const mean = fractions.reduce((sum, fraction) => sum + fraction, 0) / fractions.length
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.02)
  expect(randomness.id(14)).toMatch(/^[A-Za-z0-9_-]{14}$/)
})
