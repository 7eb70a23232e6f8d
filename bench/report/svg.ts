/** As much of SVG as the curves need. Coordinates in pixels. */

export type Attributes = Readonly<Record<string, string | number>>

export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(String(value))}"`)
  return content === '' ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${content}</${name}>`
}

export function text(
  x: number,
  y: number,
  className: string,
  words: string,
  attributes: Attributes = {},
): string {
  return element('text', { x: round(x), y: round(y), class: className, ...attributes }, escape(words))
}

export function polyline(points: readonly (readonly [number, number])[], className: string): string {
  return element('polyline', {
    points: points.map(([x, y]) => `${round(x)},${round(y)}`).join(' '),
    class: className,
  })
}

export function line(x1: number, y1: number, x2: number, y2: number, className: string): string {
  return element('line', { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2), class: className })
}

export function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escape(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
