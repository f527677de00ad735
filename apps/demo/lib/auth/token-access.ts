const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i

/** Returns true if the dashboard may be shown: to this machine, or to anyone by `DEMO_TOKENS`. */
export const mayWatch = (request: Request): boolean =>
  process.env['DEMO_TOKENS'] === 'anyone' || isLocal(request)

const isLocal = ({ headers }: Request): boolean => LOOPBACK.test(headers.get('host') ?? '')

/**
 * Returns the reason for refusing a token, or `undefined` to give one.
 *
 * A token spends the budget of its tenant. So only this machine gets tokens, under a host name that no
 * other site can use, and only without a real model. `DEMO_TOKENS` allows more: `local` gives tokens
 * with a real model too, and `anyone` under every host.
 */
export function tokenRefusal(request: Request): string | undefined {
  const { DEMO_TOKENS: allowed, OPENAI_API_KEY: key } = process.env
  if (allowed === 'anyone') return undefined
  if (!isLocal(request)) {
    return 'Only localhost gets tokens. Set DEMO_TOKENS=anyone to give them to everyone.'
  }
  if (key && allowed !== 'local') {
    return 'There are no tokens while OPENAI_API_KEY is set. Set DEMO_TOKENS=local to let this machine spend its money.'
  }
  return undefined
}
