/** Colours of the terminal, or none. */

export type Paint = (text: string) => string

export interface Style {
  readonly good: Paint
  readonly bad: Paint
  readonly warn: Paint
  readonly dim: Paint
  readonly strong: Paint
}

const plain: Paint = (text) => text

export const noColour: Style = { good: plain, bad: plain, warn: plain, dim: plain, strong: plain }

export const colour: Style = {
  good: sgr(32),
  bad: sgr(31),
  warn: sgr(33),
  dim: sgr(2),
  strong: sgr(1),
}

function sgr(code: number): Paint {
  return (text) => (text === '' ? '' : `\u001b[${code}m${text}\u001b[0m`)
}

/** Where something is written to. */
interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
}

/** Colours for a terminal, unless NO_COLOR says otherwise. */
export function styleFor(output: Output, env: NodeJS.ProcessEnv): Style {
  const noColor = env['NO_COLOR'] ?? ''
  return output.isTTY === true && noColor === '' && env['TERM'] !== 'dumb' ? colour : noColour
}

/** How many columns to fill: what the terminal has, within what can be read. */
export function widthFor(output: Output): number {
  return Math.min(100, Math.max(80, (output.columns ?? 100) - 1))
}
