import { ConfigError } from '@sluice/core'
import { PATHS, type Provider } from './provider.ts'

/** Throws a `ConfigError` that names the first field of a provider that is malformed. */
export function assertProvider(provider: Provider, all: readonly Provider[]): void {
  const { id, apis, url, auth = 'bearer', query = {}, key, prices, models = ['any'] } = provider
  const assert = (field: string, isValid: boolean, rule: string): void => {
    if (isValid) return
    throw new ConfigError('invalid_option', `${id}.${field} in src/providers.ts`, rule)
  }
  const isId = typeof id === 'string' && /^[a-z][a-z\d-]{0,31}$/.test(id)
  assert('id', isId, 'must be small letters, digits and dashes')
  assert('id', all.filter((one) => one.id === id).length === 1, 'must be the id of one provider')
  const names = namesOf(apis)
  const known = `must name some of ${Object.keys(PATHS).join(', ')}`
  assert('apis', names.length > 0 && names.every((name) => name in PATHS), known)
  const paths = Array.isArray(apis) ? [] : Object.values(apis)
  assert('apis', paths.every(isPath), 'must have paths that begin with "/"')
  assert('url', isUrl(url), 'must be an http(s) URL without credentials and parameters')
  const forms = ['bearer', 'x-api-key', 'api-key']
  assert('auth', forms.includes(auth), `must be ${forms.join(', ')}`)
  assert('query', Object.values(query).every(isText), 'must be texts by name')
  const { allowFields = [] } = provider
  const isList = Array.isArray(allowFields) && allowFields.every(isText)
  assert('allowFields', isList, 'must be a list of names of fields')
  // The value is not quoted: it may be the key itself.
  const isName = typeof key === 'string' && /^[A-Z][A-Z\d]*(_[A-Z\d]+)+$/.test(key)
  const rule = 'must be the name of a secret, such as OPENAI_API_KEY, and never the key itself'
  assert('key', isName && key.length <= 64, rule)
  assert('prices', typeof prices?.findPrice === 'function', 'must be made by definePrices')
  const sent = Array.isArray(models) ? models : Object.values(models)
  assert('models', sent.length > 0 && sent.every(isText), 'must name at least one model')
  const isOnce = new Set(sent).size === sent.length
  assert('models', isOnce, 'must name each model once: another name of a model is one of ALIASES')
}

/** Returns the members of a list, or the names of a record. */
export const namesOf = (value: readonly string[] | object): readonly string[] =>
  Array.isArray(value) ? (value as readonly string[]) : Object.keys(value)

/** Returns true for an address that takes no key along, not even with a part to fill in. */
export const isUrl = (url: unknown): boolean =>
  typeof url === 'string' &&
  /^https?:\/\/[^/@?#]+(\/[^@?#]*)?$/.test(url) &&
  URL.canParse(url.replace(/<[\w-]+>/g, 'part'))

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const isPath = (value: unknown): boolean => typeof value === 'string' && /^\/[^?#@]+$/.test(value)
