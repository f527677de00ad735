/**
 * Returns the ways in which servers may read a path, each in one spelling: lower case, single slashes,
 * no trailing slash, no parameters (`;x=1`), and all layers of escapes decoded where they are valid.
 *
 * 1. Routers split first and decode each segment: an encoded slash does not separate segments.
 * 2. Proxies decode first and split the result.
 * 3. Gateways put the decoded path into a new URL: `..`, `?` and `#` get their meaning.
 */
export function readingsOf(pathname: string): string[] {
  const bySegment = pathname.split(SLASH).map(decodeSegment)
  if (!/[%;]/.test(pathname)) return [plainPath(bySegment)]
  const whole = decodePath(pathname).replace(PARAMETERS, '').split(SLASH)
  return [plainPath(bySegment), plainPath(whole), plainPath(urlSegments(whole))]
}

/** Decodes a segment but keeps its slashes encoded. Slashes at its end count as trailing ones. */
function decodeSegment(segment: string): string {
  return decodePath(segment)
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

/** Keeps a segment of nothing but parameters, because `:id` matches it. */
function withoutParameters(segment: string): string {
  const at = segment.indexOf(';')
  return at > 0 ? segment.slice(0, at) : segment
}

/** Returns the segments of the path after they have been part of a URL: `..` resolved, no query. */
function urlSegments(segments: readonly string[]): string[] {
  return decodePath(new URL(`http://host/${segments.join('/')}`).pathname).split(SLASH)
}

/** Decodes up to three layers of escapes. Leaves escapes that are not UTF-8, and throws nothing. */
export function decodePath(pathname: string): string {
  let path = pathname
  // More layers than any proxy adds; the bound limits the work a client can cause.
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

/** Escapes that `decodeURIComponent` accepts: the well-formed sequences of the Unicode Standard, table 3-7. */
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
