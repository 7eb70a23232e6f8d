import { dirname, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Mutants: the library broken on purpose, to prove that a test notices. With `HOLDFAST_MUTANT=name` in the
 * environment, the text named in test/mutants is replaced while its module loads. Nothing of this is in
 * shipped code; without the variable nothing happens.
 *
 * @typedef {object} Mutant
 * @property {string} file from the root of the repository, a `.ts` or `.lua` file
 * @property {string} text what is replaced; must be there exactly once
 * @property {string} replacement
 * @property {{ file: string, test: string }} caughtBy the test that must fail: its file, and its full name
 * ("describe > test")
 */

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

const name = process.env['HOLDFAST_MUTANT'] || undefined
/** @type {Mutant | undefined} */
let active
if (name !== undefined) {
  /** @type {{ mutants: Record<string, Mutant> }} */
  const { mutants } = await import('../test/mutants/index.mjs')
  active = Object.hasOwn(mutants, name) ? mutants[name] : undefined
  if (active === undefined) throw new Error(`${mutationErrorPrefix(name)} not in test/mutants`)
}

/**
 * How every error of this file begins, so that a mutant which could not be applied is never taken for one
 * that was caught.
 * @param {string} mutant
 */
export function mutationErrorPrefix(mutant) {
  return `Mutant "${mutant}" could not be applied:`
}

/**
 * Text of a source file with the active mutant applied; the same text when the mutant is about another file.
 * @param {string} path absolute
 * @param {string} text
 */
export function mutate(path, text) {
  if (active === undefined || name === undefined) return text
  if (relative(root, path).split(sep).join('/') !== active.file) return text
  return applyMutant(name, active, text)
}

/**
 * @param {string} mutantName
 * @param {Pick<Mutant, 'file' | 'text' | 'replacement'>} mutant
 * @param {string} text
 */
export function applyMutant(mutantName, mutant, text) {
  const pieces = text.split(mutant.text)
  if (pieces.length !== 2) {
    const found = pieces.length - 1
    throw new Error(
      `${mutationErrorPrefix(mutantName)} its text is ${found} times in ${mutant.file}, must be there once`,
    )
  }
  return pieces.join(mutant.replacement)
}
