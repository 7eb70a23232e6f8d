/** Says what runs now: on one line that is written over on a terminal, else on lines of their own. */
export class Progress {
  readonly #output: NodeJS.WriteStream

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
  }

  show(text: string): void {
    this.clear()
    this.#output.write(this.#output.isTTY ? `  ${text}` : `  ${text}\n`)
  }

  /** Takes the line away, before something else is written. */
  clear(): void {
    if (!this.#output.isTTY) return
    this.#output.cursorTo(0)
    this.#output.clearLine(0)
  }
}
