/** The names and values of a tool call's arguments, as texts. */
export function textsOf(value: unknown): string[] {
  const texts: string[] = []
  // Not recursive: it may nest as deeply as it is long.
  const rest = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (Array.isArray(next)) rest.push(...(next as unknown[]))
    else if (typeof next === 'object' && next !== null) {
      for (const [name, member] of Object.entries(next)) {
        texts.push(name)
        rest.push(member)
      }
    } else if (typeof next === 'string') texts.push(next)
    else if (next !== undefined && next !== null) texts.push(JSON.stringify(next))
  }
  return texts
}
