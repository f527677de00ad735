/** A request as a command line has it. */
export interface PrintedCall {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The request of the last command that `sluice init` prints, but for its address and its JWT. */
export function printedCall(out: string): PrintedCall {
  const [call = ''] = /curl .*$/m.exec(out) ?? []
  const headers = Array.from(
    call.matchAll(/-H '([^:']+): ([^']+)'/g),
    ([, name = '', value = '']) => [name, value] as const,
  )
  const body = /-d '([^']*)'/.exec(call)?.[1]
  return {
    method: /-X (\w+)/.exec(call)?.[1] ?? 'GET',
    headers: Object.fromEntries(headers),
    ...(body !== undefined && { body }),
  }
}
