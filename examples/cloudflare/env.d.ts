// `npx wrangler types` makes such a file from .dev.vars and wrangler.jsonc.
declare namespace Cloudflare {
  interface Env {
    UPSTASH_REDIS_REST_URL: string
    UPSTASH_REDIS_REST_TOKEN: string
    JWT_SECRET: string
  }
}
