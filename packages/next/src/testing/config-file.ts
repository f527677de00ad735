import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { moduleOf, nodesIn, type Module, type Node } from './module.ts'

/** A setting of the project's configuration: the value of a property, or a method. */
export interface Setting {
  readonly module: Module
  readonly node: Node
}

const ENDINGS = ['ts', 'mts', 'mjs', 'js', 'cjs']

/** Finds the settings of a name in the project's `next.config`. */
export function settingsNamed(root: string, name: string): Setting[] {
  const file = ENDINGS.map((ending) => join(root, `next.config.${ending}`)).find(existsSync)
  if (file === undefined) return []
  const module = moduleOf(file, root)
  return [...nodesIn(module.program)].flatMap((node) => {
    const { key, value } = node as { key?: { name?: string; value?: unknown }; value?: Node }
    if (!/^Object(Property|Method)$/.test(node.type)) return []
    return (key?.name ?? key?.value) === name ? [{ module, node: value ?? node }] : []
  })
}
