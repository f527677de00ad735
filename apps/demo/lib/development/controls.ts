import { tokenRefusal } from '../auth/token-access'

/**
 * Returns the reason for refusing to run a scenario or a reset, or `undefined` to do it. They spend and
 * reset the budgets of the demo's tenants, so only `npm run demo` turns them on, for those who get tokens.
 */
export function controlsRefusal(request: Request): string | undefined {
  if (process.env['DEMO_CONTROLS'] !== 'on') {
    return 'Scenarios are off. "npm run demo" turns them on.'
  }
  const site = request.headers.get('sec-fetch-site') ?? 'same-origin'
  if (site !== 'same-origin') return 'Scenarios start from this page only.'
  return tokenRefusal(request)
}

/** Answers 403 with a reason. */
export const refuse = (message: string): Response =>
  Response.json({ error: 'controls_disabled', message }, { status: 403 })
