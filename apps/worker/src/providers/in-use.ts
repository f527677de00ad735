import { ConfigError } from '@sluice/core'
import { isUrl } from './check.ts'
import { baseUrlVariable, type Provider } from './provider.ts'

/** A provider that is called, or that the stand-in answers for. */
export interface ProviderInUse extends Provider {
  readonly baseUrl: string
  /** The operator's key. Without one, the stand-in answers. */
  readonly secret: string | undefined
}

type Variables = Readonly<Record<string, unknown>>

/**
 * Returns the providers whose key is set; if there is none, all of them, without a key.
 *
 * @throws ConfigError When an address is malformed, or lacks a part.
 */
export function providersInUse(env: object, all: readonly Provider[]): readonly ProviderInUse[] {
  const variables = env as Variables
  const on = all.flatMap((provider) => {
    const secret = textIn(variables, provider.key)
    return secret ? [{ ...provider, secret, baseUrl: baseUrlOf(provider, variables) }] : []
  })
  return on.length > 0 ? on : all.map((one) => ({ ...one, secret: undefined, baseUrl: '' }))
}

function textIn(variables: Variables, name: string): string | undefined {
  const value = variables[name]
  return typeof value === 'string' ? value.trim() || undefined : undefined
}

function baseUrlOf(provider: Provider, variables: Variables): string {
  const variable = baseUrlVariable(provider)
  const url = textIn(variables, variable) ?? provider.url
  const fail = (rule: string) => new ConfigError('invalid_option', variable, rule)
  if (!isUrl(url)) throw fail('must be an http(s) URL without credentials and parameters')
  if (url.includes('<')) {
    throw fail(`must be set because ${provider.key} is: to ${provider.url}, with your own part`)
  }
  return url.replace(/\/+$/, '')
}
