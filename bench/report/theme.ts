/** Colours for a light and a dark page; the page's own background shows through. */
interface Palette {
  readonly words: string
  readonly faint: string
  readonly grid: string
  readonly ours: string
  readonly floor: string
  readonly peer: string
}

const light: Palette = {
  words: '#1f2328',
  faint: '#59636e',
  grid: '#d8dee4',
  ours: '#0969da',
  floor: '#7d8590',
  peer: '#bc4c00',
}

const dark: Palette = {
  words: '#f0f6fc',
  faint: '#9198a1',
  grid: '#30363d',
  ours: '#58a6ff',
  floor: '#8b949e',
  peer: '#f0883e',
}

function rules({ words, faint, grid, ours, floor, peer }: Palette): string {
  return [
    `text{fill:${words}}`,
    `.faint{fill:${faint}}`,
    `.grid{stroke:${grid}}`,
    ...Object.entries({ ours, floor, peer }).flatMap(([name, colour]) => [
      `polyline.${name}{stroke:${colour}}`,
      `circle.${name},rect.${name},text.${name}{fill:${colour}}`,
    ]),
  ].join('')
}

export const STYLE =
  `text{font:12px -apple-system,'Segoe UI',Helvetica,Arial,sans-serif}` +
  `.title{font-size:14px;font-weight:600}.bold{font-weight:600}` +
  `.end{text-anchor:end}.middle{text-anchor:middle}` +
  `polyline{fill:none;stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}` +
  `polyline.dashed{stroke-dasharray:2 5}.grid{stroke-width:1}` +
  rules(light) +
  `@media (prefers-color-scheme:dark){${rules(dark)}}`
