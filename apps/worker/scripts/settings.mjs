import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** The command that creates a key, in the folder of the gateway. */
export const CREATE_KEY = 'npx @sluice/cli keys create --tenant acme --plan growth --yes'

export const HELP = `Usage: npm run gateway -- [options]

Builds the gateway and starts it on this machine. Without any setting it has a store in this
process, a key to try it with, and a stand-in instead of a model.

  --port <number>  the port (default: 8787, or a free one if 8787 is in use)
  --no-build       start the last build
  --help           print this text

For a real model, set OPENAI_API_KEY or ANTHROPIC_API_KEY. The gateway then needs a Redis of
yours, for keys: set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, and create a key in
apps/worker: ${CREATE_KEY}
All settings may be in apps/worker/.dev.vars.`

const FILE = fileURLToPath(new URL('../.dev.vars', import.meta.url))

const VARIABLES = [
  'UPSTASH_REDIS_REST_URL',
  'UPSTASH_REDIS_REST_TOKEN',
  'STORE_TIMEOUT_MS',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_BASE_URL',
  'MODELS',
]

/** Adds the settings in `.dev.vars` to those of the environment, which take precedence. */
export function loadSettings() {
  if (existsSync(FILE)) process.loadEnvFile(FILE)
}

/** Parses the command line. Throws an error that names the invalid option. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string' },
      'no-build': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false, short: 'h' },
    },
  })
  const { port, help } = values
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    throw new Error(`--port must be a number from 0 to 65535, not "${port}"`)
  }
  return { help, build: !values['no-build'], port: port === undefined ? undefined : Number(port) }
}

/** Reads the settings of the gateway. Throws if they would open it to everyone. */
export function settingsIn(env) {
  const variables = Object.fromEntries(
    VARIABLES.filter((name) => env[name]).map((name) => [name, env[name]]),
  )
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = variables
  if (!url !== !token) {
    const missing = url ? 'UPSTASH_REDIS_REST_TOKEN' : 'UPSTASH_REDIS_REST_URL'
    throw new Error(
      `${missing} is not set: set both of UPSTASH_REDIS_REST_URL and _TOKEN, or neither`,
    )
  }
  const upstream = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'].find((name) => variables[name])
  if (upstream && !url) {
    throw new Error(
      `${upstream} is set, but no keys are: without them the gateway would spend your money for anyone.\n` +
        'Set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, and create a key in apps/worker:\n' +
        `${CREATE_KEY}\n` +
        `To try the gateway with a stand-in, unset ${upstream}.`,
    )
  }
  return { variables, redis: url ? { url, token } : undefined }
}
