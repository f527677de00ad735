import { defineEnvVars } from '@sveltejs/kit/env'

const optional = { schema: (value?: string) => value }

export const variables = defineEnvVars({
  UPSTASH_REDIS_REST_URL: optional,
  UPSTASH_REDIS_REST_TOKEN: optional,
  JWT_SECRET: optional,
})
