import { SEARCHES } from '../search/searches.ts'

/** Searches a small world whole, and says what came of it. */
export function describeSearch(name: string): { readonly text: string; readonly found: boolean } {
  const search = SEARCHES[name]
  if (search === undefined) throw new RangeError(`there is no search ${name}`)
  const { states, steps, depth, found } = search.run()
  const size = `${states} states, ${steps} steps between them, the farthest ${depth} steps away`
  const head = `${name}: ${search.about}\n  bound: ${search.bound}\n  ${size}`
  if (found === null) return { text: `${head}\n  nothing is wrong in any of them`, found: false }
  const way = found.way.map((step, at) => `  ${String(at + 1).padStart(3)}  ${step}`)
  return { text: [head, `  ${found.wrong}:`, ...way].join('\n'), found: true }
}
