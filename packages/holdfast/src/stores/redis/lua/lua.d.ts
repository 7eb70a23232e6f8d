/** A Lua script as the build hands it over: includes expanded, and the SHA-1 that EVALSHA wants. */
declare module '*.lua' {
  const script: {
    /** File name without `.lua`. */
    readonly name: string
    /** Full text, as it is sent with EVAL. */
    readonly source: string
    /** SHA-1 of `source` in lower-case hex. */
    readonly sha1: string
  }
  export default script
}
