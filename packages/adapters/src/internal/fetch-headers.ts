/**
 * Returns the headers of a request of Node.js, as `node:http` joins them: of a repeated `Authorization`,
 * the first one counts.
 */
export function headersOf(
  incoming: Readonly<Record<string, string | string[] | undefined>>,
): Headers {
  const headers = new Headers()
  for (const [name, value = []] of Object.entries(incoming)) {
    // HTTP/2 has the method and the path among the headers, as `:method` and `:path`.
    if (name.startsWith(':')) continue
    for (const text of typeof value === 'string' ? [value] : value) headers.append(name, text)
  }
  return headers
}
