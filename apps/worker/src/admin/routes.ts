import type { Address } from './call.ts'

/** The longest part of a path. */
const MAX_PART = 256

/** Returns the parts of a path by the names in a pattern; `undefined` if the path is another. */
function partsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [names, given] = [pattern.split('/'), path.split('/')]
  if (names.length !== given.length) return undefined
  const parts: Record<string, string> = {}
  for (const [at, name] of names.entries()) {
    const part = given[at] ?? ''
    if (!name.startsWith('{')) {
      if (part !== name) return undefined
      continue
    }
    const value = decoded(part)
    if (value === undefined) return undefined
    parts[name.slice(1, -1)] = value
  }
  return parts
}

function decoded(part: string): string | undefined {
  try {
    const value = decodeURIComponent(part)
    return value !== '' && value.length <= MAX_PART && value.isWellFormed() ? value : undefined
  } catch {
    return undefined
  }
}

/** Finds the address of a request. */
export function findAddress(addresses: readonly Address[], method: string, path: string) {
  for (const address of addresses) {
    const parts = address.method === method ? partsOf(address.path, path) : undefined
    if (parts) return { address, path: parts }
  }
  return undefined
}

/** Lists the methods that a path has. */
export const methodsOf = (addresses: readonly Address[], path: string): string[] =>
  addresses.filter((address) => partsOf(address.path, path)).map(({ method }) => method)
