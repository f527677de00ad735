import { randomBytes } from 'node:crypto'
import { CommandError, type Engine } from './engine.ts'
import { LocalError } from '../errors.ts'
import { REFUSED_COMMANDS } from './refused-commands.ts'
import { connectRedis } from './redis.ts'

const USER = 'sluice-local'
/** Commands that the connection itself needs. Redis refuses them in scripts anyway. */
const CONNECTION_COMMANDS = new Set(['AUTH', 'MULTI', 'EXEC', 'DISCARD'])

/**
 * Connects to the `redis-server` of this package as a user without the commands that REST refuses.
 *
 * The text of a script does not show which commands it will send. So Redis refuses them: it checks
 * each command of a script against the rights of its user.
 *
 * @throws LocalError `ERR_LOCAL_REDIS_UNREACHABLE`, or `ERR_LOCAL_REDIS_START` if the server has no
 * ACLs.
 */
export async function connectRestricted(url: string): Promise<Engine> {
  const password = randomBytes(24).toString('base64url')
  const admin = await connectRedis(url)
  try {
    const names = [...REFUSED_COMMANDS].filter((name) => !CONNECTION_COMMANDS.has(name))
    // An ACL rule with a command that this version does not know is an error.
    const infos = await admin.execute(['COMMAND', 'INFO', ...names])
    const forbidden = names.filter((_, index) => Array.isArray(infos) && infos[index] !== null)
    const rules = [
      'reset',
      'on',
      `>${password}`,
      '~*',
      '&*',
      '+@all',
      ...forbidden.map((name) => `-${name}`),
    ]
    const reply = await admin.execute(['ACL', 'SETUSER', USER, ...rules])
    if (reply instanceof CommandError) {
      throw new LocalError(
        'ERR_LOCAL_REDIS_START',
        'The redis-server on the PATH is too old to restrict the commands of scripts: install ' +
          'version 6.2 or newer, pass a Redis URL, or use the embedded engine',
      )
    }
  } finally {
    await admin.close()
  }
  return connectRedis(url.replace('//', `//${USER}:${password}@`))
}
