/**
 * The ways to read a path, one spelling for each: in lower case, with single slashes, no trailing
 * one, and no parameters (`;x=1`) in its segments. Decoded (what is encoded twice, too; what cannot
 * be decoded stays as it is),
 *
 * 1. segment by segment, as routers do: an encoded slash does not part segments;
 * 2. as a whole, as proxies do, who then split what they have decoded;
 * 3. the same as part of a URL, as gateways read it that build one: `..`, `?` and `#` have a meaning.
 */
export function readingsOf(pathname: string): string[] {
  const bySegment = pathname.split(SLASH).map(inOneSegment)
  if (!/[%;]/.test(pathname)) return [plainPath(bySegment)]
  const whole = decoded(pathname).replace(PARAMETERS, '').split(SLASH)
  return [plainPath(bySegment), plainPath(whole), plainPath(inUrl(whole))]
}

/** Decoded, but for the slashes in it; those at its end are as good as a trailing one. */
function inOneSegment(segment: string): string {
  return decoded(segment)
    .replace(/([^/\\])[/\\]+$/, '$1')
    .replace(SLASHES, '%2f')
}

const SLASH = /[/\\]/
const SLASHES = /[/\\]/g
const PARAMETERS = /;[^/\\]*/g

function plainPath(segments: readonly string[]): string {
  const plain = segments.map((segment) => withoutParameters(segment).toLowerCase())
  return `/${plain.filter((segment) => segment !== '').join('/')}`
}

/** A segment that is nothing but parameters stays: it is one that `:id` takes. */
function withoutParameters(segment: string): string {
  const at = segment.indexOf(';')
  return at > 0 ? segment.slice(0, at) : segment
}

/** The path of the URL that these segments make: without `..`, a query, or what a URL drops. */
function inUrl(segments: readonly string[]): string[] {
  return decoded(new URL(`http://host/${segments.join('/')}`).pathname).split(SLASH)
}

/** Decodes escapes, those of escapes too, without an exception where they are not UTF-8. */
export function decoded(pathname: string): string {
  let path = pathname
  // Three layers are more than any proxy adds, and a bound on what a client can make us do.
  for (let layer = 0; layer < 3 && path.includes('%'); layer += 1) {
    path = path.replace(ESCAPES, (bytes) =>
      UTF_8.test(bytes)
        ? decodeURIComponent(bytes)
        : // A router that decodes piece by piece reads the ASCII in it all the same.
          bytes.replace(/%[0-7]./g, (escape) => decodeURIComponent(escape)),
    )
  }
  return path
}

const ESCAPES = /(?:%[0-9a-f]{2})+/gi

/** Escapes that `decodeURIComponent` takes: the well-formed sequences of the Unicode Standard, table 3-7. */
const UTF_8 = utf8Escapes()

function utf8Escapes(): RegExp {
  const more = '%[89ab].'
  const [two, three, four] = [
    `%(?:c[2-9a-f]|d.)${more}`,
    `%e(?:0%[ab].|d%[89].|[^0d]${more})${more}`,
    `%f(?:0%[9ab].|[123]${more}|4%8.)${more}${more}`,
  ]
  return new RegExp(`^(?:%[0-7].|${two}|${three}|${four})+$`, 'i')
}
