import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the block of a page in `docs/` that begins with its name (`// name.ts`). */
export function readBlock(page: string, name: string): string {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const block = new RegExp(`\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1]
  if (block === undefined) throw new Error(`${page} has no block ${name}`)
  return block
}

/** Makes the store of a reader's code as patient as a busy machine needs, with keys of its own if there is a prefix. */
export function patient(code: string, prefix?: string): string {
  const options = `${prefix === undefined ? '' : `prefix: '${prefix}', `}timeoutMs: 30_000`
  return code
    .replaceAll('upstash()', `upstash({ ${options} })`)
    .replaceAll('upstash({ env })', `upstash({ env, ${options} })`)
    .replaceAll('upstash({ url', `upstash({ ${options}, url`)
    .replaceAll('durableObjects(env.LIMITS)', `durableObjects(env.LIMITS, { ${options} })`)
}

/**
 * Writes the block of a page in `docs/` that begins with its name (`// name.ts`) to `folder`, and imports it.
 *
 * @param replacements Texts of the block that are the reader's own, and what the test has instead.
 */
export async function importBlock<Exports>(
  folder: string,
  page: string,
  name: string,
  replacements: Readonly<Record<string, string>> = {},
): Promise<Exports> {
  let code = readBlock(page, name)
  for (const [from, to] of Object.entries(replacements)) {
    if (!code.includes(from)) throw new Error(`${name} does not contain ${from}`)
    code = code.replaceAll(from, to)
  }
  const file = join(folder, name)
  writeFileSync(file, patient(code))
  return (await import(file)) as Exports
}
