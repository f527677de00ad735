const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i

/**
 * The reason why a request gets no token; `undefined` if it gets one.
 *
 * A token spends what its tenant may spend. So tokens are for browsers on this machine, under no name
 * that another site can point here, and not where a real model is paid for. `DEMO_TOKENS` allows more:
 * `local` gives them with a real model too, `anyone` under every host.
 */
export function tokenRefusal(request: Request): string | undefined {
  const { DEMO_TOKENS: allowed, OPENAI_API_KEY: key } = process.env
  if (allowed === 'anyone') return undefined
  if (!LOOPBACK.test(request.headers.get('host') ?? '')) {
    return 'Tokens are given on localhost only. Set DEMO_TOKENS=anyone to give them to everyone.'
  }
  if (key && allowed !== 'local') {
    return 'No tokens are given while OPENAI_API_KEY is set. Set DEMO_TOKENS=local to let this machine spend it.'
  }
  return undefined
}
