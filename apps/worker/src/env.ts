/** The Worker's bindings. */
export interface Env {
  readonly UPSTASH_REDIS_REST_URL: string
  readonly UPSTASH_REDIS_REST_TOKEN: string
  /** How long a decision may take; then the Worker goes on limiting by itself. @default '1000' */
  readonly STORE_TIMEOUT_MS?: string
  /** Signs the callers' JWTs: 32 characters or more. */
  readonly JWT_SECRET: string
  /** With `OPENAI_BASE_URL`: a real model. Without them a stand-in answers. */
  readonly OPENAI_API_KEY?: string
  /** As in `https://api.openai.com/v1`. */
  readonly OPENAI_BASE_URL?: string
}
