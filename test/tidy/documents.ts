import { filesOf, read } from './files.ts'

/** The guides and the README, as one text and as the names that they show as code. */

export function documents(): string {
  const files = filesOf().filter(
    (file) => file === 'README.md' || (file.startsWith('docs/') && file.endsWith('.md')),
  )
  return files.map(read).join('\n')
}

/** Every name that stands in a code block or between backticks. */
export function namesInCode(markdown: string): Set<string> {
  const blocks = [...markdown.matchAll(/^```[^\n]*\n([\s\S]*?)^```/gm)].map(([, code]) => code ?? '')
  const spans = [...markdown.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, code]) => code ?? '',
  )
  return new Set([...blocks, ...spans].flatMap((code) => code.match(/[A-Za-z_$][\w$]*/g) ?? []))
}
