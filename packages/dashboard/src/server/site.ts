/**
 * Returns true for the requests that a browser sends for the page of another site. Browsers say so themselves, but over
 * HTTP to other machines: there they name the origin of a page only if it is another one. Servers send neither header.
 */
export function isOfAnotherSite({ url, headers }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'cross-site'
  const origin = headers.get('origin')
  if (origin === null) return false
  // Behind a proxy, the browser's name of this server is in the header that the proxy adds.
  const own = [new URL(url).host, headers.get('host'), headers.get('x-forwarded-host')]
  return !own.includes(origin.replace(/^https?:\/\//, ''))
}
