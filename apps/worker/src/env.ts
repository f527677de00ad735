/** The Worker's bindings. */
export interface Env {
  readonly UPSTASH_REDIS_REST_URL: string
  readonly UPSTASH_REDIS_REST_TOKEN: string
  /** The milliseconds that the store may take. Then the Worker limits on its own. @default '1000' */
  readonly STORE_TIMEOUT_MS?: string
  /** The secret that signs the JWTs of clients: 32 characters or more. */
  readonly JWT_SECRET: string
  /** The key of a real model, with `OPENAI_BASE_URL`. Without both, a stand-in answers. */
  readonly OPENAI_API_KEY?: string
  /** The address of a real model, such as `https://api.openai.com/v1`. */
  readonly OPENAI_BASE_URL?: string
}
