import type { Row } from '../../trace/trace.ts'

/** Writes rows in the format of the Azure LLM inference traces: CRLF, seven digits, no final newline. */
export function azureTrace(rows: readonly Row[]): string {
  const lines = rows.map(({ at, input, output }) => {
    const [day = '', time = ''] = new Date(at).toISOString().slice(0, -1).split('T')
    return `${day} ${time}5900,${input},${output}`
  })
  return ['TIMESTAMP,ContextTokens,GeneratedTokens', ...lines].join('\r\n')
}
