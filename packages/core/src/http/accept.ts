import type { DenialFormat } from './body.ts'

/**
 * The format that a client asks for in `Accept`: `problem` if it names `application/problem+json`, and
 * not as something it likes less than `application/json`. A wildcard asks for nothing in particular.
 */
export function negotiatedFormat(request: Request): DenialFormat {
  let [problem, json] = [0, 0]
  for (const range of (request.headers.get('accept') ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    if (type === 'application/problem+json') problem = Math.max(problem, quality(parameters))
    if (type === 'application/json') json = Math.max(json, quality(parameters))
  }
  return problem > 0 && problem >= json ? 'problem' : 'default'
}

/** The weight of a media range (RFC 9110, section 12.4.2): 1 unless given, 0 when malformed. */
function quality(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
}
