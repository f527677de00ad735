/* Modules that only a framework or a platform has, as a file of limits finds them in a terminal. */
import { ConfigError } from '@sluice/core'
import { installed, refuse } from './errors.ts'

/** The binding of `LimitsObject` that the pages name. */
const BINDING = 'LIMITS'

/**
 * Returns the modules by name: variables, the promise that it is no browser, and the bindings of a Worker.
 *
 * @throws CommandError When the variables of Durable Objects are not complete.
 */
export async function frameworkModules(): Promise<Readonly<Record<string, unknown>>> {
  const { env } = process
  return {
    'server-only': {},
    'cloudflare:workers': { ...CLASSES, env: { ...env, ...(await bindings()) } },
    '$env/dynamic/private': { env },
    '$env/static/private': env,
    '$app/env/private': env,
  }
}

class PlatformClass {
  protected readonly env = process.env
}

/** Classes that a Worker extends. None of them runs here. */
const CLASSES = {
  DurableObject: PlatformClass,
  WorkerEntrypoint: PlatformClass,
  WorkflowEntrypoint: PlatformClass,
}

/** Returns the binding of the objects that a Worker's `operatorHandler` reaches. */
async function bindings(): Promise<Readonly<Record<string, unknown>>> {
  const {
    SLUICE_OBJECTS_URL: url,
    SLUICE_OBJECTS_TOKEN: token = '',
    SLUICE_OBJECTS_BINDING: binding = BINDING,
  } = process.env
  if (!url) return {}
  const { remoteObjects } = await installed(
    '@sluice/cloudflare',
    () => import('@sluice/cloudflare/operator'),
  )
  try {
    return { [binding]: remoteObjects({ url, token }) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return refuse(
      `SLUICE_OBJECTS_${error.option === 'remoteObjects.url' ? 'URL' : 'TOKEN'} ${error.reason}`,
    )
  }
}
