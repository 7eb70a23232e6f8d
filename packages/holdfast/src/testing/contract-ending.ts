interface Closes {
  readonly opened: { close(): Promise<void> }
}

/** Runs a case, and takes everything down whatever fails: the error of the case itself comes out first. */
export async function runAndEnd(run: () => Promise<void>, end: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    await end().catch(() => undefined)
    throw error
  }
  await end()
}

/** Closes what was opened, and then the bench, also when a store does not close. */
export async function endAll(parties: readonly Closes[], bench: { end(): Promise<void> }): Promise<void> {
  try {
    for (const { opened } of parties) await opened.close()
  } finally {
    await bench.end()
  }
}
