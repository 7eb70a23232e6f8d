import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const subpaths = Object.keys(require('holdfast/package.json').exports).filter(
  (subpath) => !subpath.endsWith('.json'),
)
for (const subpath of subpaths) {
  const name = 'holdfast' + subpath.slice(1)
  const esm = Object.keys(await import(name)).sort()
  const cjs = Object.keys(require(name)).sort()
  assert.ok(esm.length > 0, `${name} exports something`)
  assert.deepEqual(cjs, esm, `${name} exports the same in both formats`)
}
console.log('works')
