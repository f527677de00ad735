/**
 * Returns a number from 0 to below 1 that depends on `parts` alone. The fate of a call is the same in every
 * run, in whichever order the calls run.
 */
export function roll(...parts: readonly (number | string)[]): number {
  let hash = 2_166_136_261
  for (const character of parts.join(' ')) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 2_246_822_507)
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
