import { randomBytes } from 'node:crypto'
import { CommandError } from './engine.ts'
import type { Engine } from './engine.ts'
import { LocalError } from '../errors.ts'
import { REFUSED_COMMANDS } from './refused-commands.ts'
import { connectRedis } from './redis.ts'

const USER = 'sluice-local'
/** What the connection itself needs. Redis refuses these in scripts by itself. */
const CONNECTION_COMMANDS = new Set(['AUTH', 'MULTI', 'EXEC', 'DISCARD'])

/**
 * Connects to a Redis that was started for this server, as a user of its own.
 *
 * A script's text does not show which commands it will send, so Redis itself has to refuse them: it
 * checks a script's commands against the rights of the user that runs it.
 *
 * @throws LocalError `ERR_LOCAL_REDIS_UNREACHABLE`, or `ERR_LOCAL_REDIS_START` for one without ACLs.
 */
export async function connectOwnRedis(url: string): Promise<Engine> {
  const password = randomBytes(24).toString('base64url')
  const admin = await connectRedis(url)
  try {
    const names = [...REFUSED_COMMANDS].filter((name) => !CONNECTION_COMMANDS.has(name))
    // A name that this version does not know would be an error in the ACL.
    const found = await admin.execute(['COMMAND', 'INFO', ...names])
    const denied = names.filter((_, index) => Array.isArray(found) && found[index] !== null)
    const rules = [
      'reset',
      'on',
      `>${password}`,
      '~*',
      '&*',
      '+@all',
      ...denied.map((n) => `-${n}`),
    ]
    const outcome = await admin.execute(['ACL', 'SETUSER', USER, ...rules])
    if (outcome instanceof CommandError) {
      throw new LocalError(
        'ERR_LOCAL_REDIS_START',
        'The redis-server on the PATH is too old to restrict what scripts may do: install 6.2 or ' +
          'newer, pass a Redis URL, or use the embedded engine',
      )
    }
  } finally {
    await admin.close()
  }
  return connectRedis(url.replace('//', `//${USER}:${password}@`))
}
