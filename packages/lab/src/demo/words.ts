/** Small words for reports. */

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Milliseconds as seconds, as `1.26 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`
}
