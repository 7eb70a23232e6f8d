/** What stands between a nervous finger and a second order. */
export const LAYERS = ['button', 'key', 'idempotency', 'unique'] as const

export type Layer = (typeof LAYERS)[number]

/** @param url with `?without=button,key` and the like; nothing is switched off by default */
export function layersOf(url: string): ReadonlySet<Layer> {
  const without = new URL(url, 'http://localhost').searchParams.get('without')?.split(',') ?? []
  return new Set(LAYERS.filter((layer) => !without.includes(layer)))
}
