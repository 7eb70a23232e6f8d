import ts from 'typescript'

/** What a source file does that it should not, read from its syntax tree, so that comments and strings do not count. */

export interface Finding {
  readonly line: number
  readonly what: string
}

const CLOCK_OR_CHANCE = new Set([
  'Date.now',
  'performance.now',
  'performance.timeOrigin',
  'process.hrtime',
  'Math.random',
])

function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true, ts.ScriptKind.TS)
}

function search(source: ts.SourceFile, judge: (node: ts.Node) => string | undefined): Finding[] {
  const findings: Finding[] = []
  const visit = (node: ts.Node): void => {
    const what = judge(node)
    if (what !== undefined) {
      findings.push({ line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1, what })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return findings
}

/** Uses of this machine's clocks and randomness: `Date.now`, `new Date(…)`, `Date()`, `performance.now`, `Math.random`. */
export function clockUses(file: string, text: string): Finding[] {
  return search(parse(file, text), (node) => {
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      const used = `${node.expression.text}.${node.name.text}`
      if (CLOCK_OR_CHANCE.has(used)) return used
    }
    const isCreation = ts.isNewExpression(node) || ts.isCallExpression(node)
    if (isCreation && ts.isIdentifier(node.expression) && node.expression.text === 'Date') return 'Date(…)'
    return undefined
  })
}

/** Uses of the console. */
export function consoleUses(file: string, text: string): Finding[] {
  return search(parse(file, text), (node) => {
    const isUse = ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)
    return isUse && node.expression.text === 'console' ? `console.${node.name.text}` : undefined
  })
}

/** Uses of the type `any`. */
export function anyUses(file: string, text: string): Finding[] {
  return search(parse(file, text), (node) => (node.kind === ts.SyntaxKind.AnyKeyword ? 'any' : undefined))
}

/** Variables of the module itself that can be set again. */
export function moduleVariables(file: string, text: string): Finding[] {
  const source = parse(file, text)
  return search(source, (node) => {
    if (!ts.isVariableStatement(node) || node.parent !== source) return undefined
    const fixed = (node.declarationList.flags & ts.NodeFlags.Const) !== 0
    return fixed
      ? undefined
      : node.declarationList.declarations.map(({ name }) => name.getText(source)).join(', ')
  })
}

/** Tests that are left out, or that leave all others out. */
export function focusedOrSkipped(file: string, text: string): Finding[] {
  const modifiers = new Set(['only', 'skip', 'todo'])
  return search(parse(file, text), (node) => {
    if (!ts.isPropertyAccessExpression(node) || !modifiers.has(node.name.text)) return undefined
    let base: ts.Expression = node.expression
    while (ts.isPropertyAccessExpression(base)) base = base.expression
    const isTest = ts.isIdentifier(base) && ['it', 'test', 'describe', 'suite', 'bench'].includes(base.text)
    return isTest ? node.getText() : undefined
  })
}

/** What a module imports or re-exports, dynamic imports and `import('…')` types included. */
export function importsOf(file: string, text: string): { line: number; specifier: string }[] {
  return search(parse(file, text), (node) => {
    if (
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
      node.moduleSpecifier !== undefined
    ) {
      return (node.moduleSpecifier as ts.StringLiteral).text
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      return (node.argument.literal as ts.StringLiteral).text
    }
    const isImport = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
    const argument = isImport ? node.arguments[0] : undefined
    return argument !== undefined && ts.isStringLiteral(argument) ? argument.text : undefined
  }).map(({ line, what }) => ({ line, specifier: what }))
}

/** Every string in a file that matches. */
export function stringsLike(pattern: RegExp, file: string, text: string): string[] {
  const findings = search(parse(file, text), (node) =>
    ts.isStringLiteralLike(node) && pattern.test(node.text) ? node.text : undefined,
  )
  return [...new Set(findings.map(({ what }) => what))]
}

/** Names of the entries of an exported object constant, e.g. of `export const defaults = { ttl: … }`. */
export function keysOfConstant(name: string, file: string, text: string): string[] {
  const keys: string[] = []
  search(parse(file, text), (node) => {
    if (!ts.isVariableDeclaration(node) || node.name.getText() !== name || node.initializer === undefined)
      return undefined
    let value = node.initializer
    while (ts.isAsExpression(value) || ts.isSatisfiesExpression(value)) value = value.expression
    if (!ts.isObjectLiteralExpression(value)) return undefined
    for (const property of value.properties)
      if (property.name !== undefined) keys.push(property.name.getText())
    return undefined
  })
  return keys
}
