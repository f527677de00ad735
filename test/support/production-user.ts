/* The user that the page on production tells to make. */
import { readFileSync } from 'node:fs'
import { connect } from './redis.ts'

const page = readFileSync(new URL('../../docs/production.md', import.meta.url), 'utf8')

/** The rules of the user on the page. */
export const PRODUCTION_RULES: string = /^ACL SETUSER sluice (.*)$/m.exec(page)?.[1] ?? ''

/**
 * Creates the user of the page in a Redis, for keys under `prefix`.
 *
 * @returns The address with its name and password.
 */
export async function productionUser(redisUrl: string, prefix = 'sluice'): Promise<string> {
  const url = new URL(redisUrl)
  url.username = `user-${prefix}`
  url.password = 'a-password'
  const rules = PRODUCTION_RULES.replace('>TOKEN', `>${url.password}`)
  const admin = connect(redisUrl)
  const rights = rules.replace('~sluice:*', `~${prefix}:*`).split(' ')
  await admin.call('ACL', 'SETUSER', url.username, ...rights)
  admin.disconnect()
  return url.href
}
