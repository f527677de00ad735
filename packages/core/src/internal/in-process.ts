/**
 * Returns what the process has under this name, created by the first who asks. A bundler may load a module twice, as
 * Next.js does for `proxy.ts` and for routes: only globals are the same for both.
 */
export function inProcess<Kept>(kind: string, name: string, create: () => Kept): Kept {
  const shared = globalThis as { [kind: symbol]: Map<string, Kept> | undefined }
  const kept = (shared[Symbol.for(`sluice.${kind}`)] ??= new Map())
  const known = kept.get(name) ?? create()
  kept.set(name, known)
  return known
}
