import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const librarySource = 'packages/holdfast/src'

const NOT_OURS = new Set(['node_modules', 'dist', '.git', 'coverage'])

/** Paths of all files of the repository (or of a folder in it), from its root, with `/`. What is built or installed is left out. */
export function filesOf(folder = '.'): string[] {
  const found: string[] = []
  const visit = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const child = join(path, entry.name)
      if (NOT_OURS.has(entry.name) || entry.isSymbolicLink()) continue
      if (entry.isDirectory()) visit(child)
      else found.push(relative(root, child).split(sep).join('/'))
    }
  }
  visit(join(root, folder))
  return found.sort()
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

export const isTest = (file: string): boolean => file.endsWith('.test.ts')

/** The library's own modules, its tests left out. */
export function libraryModules(): string[] {
  return filesOf(librarySource).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.d.ts') && !isTest(file),
  )
}

export function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
