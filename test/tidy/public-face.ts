import { join } from 'node:path'
import ts from 'typescript'
import { subpaths } from '../../build/subpaths.mjs'
import { root } from './files.ts'

/** What users see of the library, as the type checker sees it. */

export interface PublicName {
  /** `holdfast`, `holdfast/redis`, … */
  readonly from: string
  readonly name: string
  readonly documented: boolean
  /** Names of the options, where this is a type of options (its name ends with `Options`); else empty. */
  readonly options: readonly { readonly name: string; readonly documented: boolean }[]
}

export function publicNames(): PublicName[] {
  const config = ts.readConfigFile(join(root, 'tsconfig.base.json'), (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent({ ...config.config, files: [] } as object, ts.sys, root)
  const entries = Object.entries(subpaths).map(
    ([subpath, source]) => ['holdfast' + subpath.slice(1), join(root, 'packages/holdfast', source)] as const,
  )
  const ambient = join(root, 'packages/holdfast/src/stores/redis/lua/lua.d.ts')
  const program = ts.createProgram([...entries.map(([, path]) => path), ambient], options)
  const checker = program.getTypeChecker()

  return entries.flatMap(([from, path]) => {
    const file = program.getSourceFile(path)
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${path} is no module`)
    return checker.getExportsOfModule(module).map((exported) => describe(checker, from, exported))
  })
}

function describe(checker: ts.TypeChecker, from: string, exported: ts.Symbol): PublicName {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
  const hasComment = (of: ts.Symbol) => of.getDocumentationComment(checker).length > 0
  const isOptions = /Options$/.test(symbol.name) && (symbol.flags & ts.SymbolFlags.Type) !== 0
  const members = isOptions ? checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)) : []
  return {
    from,
    name: exported.name,
    documented: hasComment(symbol) || hasComment(exported),
    options: members.map((member) => ({ name: member.name, documented: hasComment(member) })),
  }
}
