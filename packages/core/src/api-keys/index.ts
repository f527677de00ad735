export { apiKeys, type ApiKeysOptions } from './api-keys.ts'
export {
  createApiKey,
  expireApiKey,
  listApiKeys,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
} from './manage.ts'
export { planApiKey } from './plan.ts'
export type { ApiKeyOptions, NewApiKey } from './manage.ts'
export type { ApiKey } from './record.ts'
