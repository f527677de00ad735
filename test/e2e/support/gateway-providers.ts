import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { baseUrlVariable } from '../../../apps/worker/src/providers/provider.ts'
import { PROVIDERS } from '../fixtures/gateway-providers.ts'
import { settingsOf, type GatewayProvider } from './gateway.ts'
import { STORE_TIMEOUT_MS, type Store } from './target.ts'
import { builtWorker, runWorker, type WorkerApp } from './workerd.ts'

const folder = fileURLToPath(new URL('../../../apps/worker/', import.meta.url))
const usual = fileURLToPath(new URL('../fixtures/gateway-providers.ts', import.meta.url))

/** The key of each provider, as the operator has set it. */
export const keyOf = (id: string): string => `secret+of/${id}`

/** The settings that put providers on, each at an address of its own below that of `provider`. */
export function settingsFor({ url }: GatewayProvider, ids: readonly string[]) {
  const on = PROVIDERS.filter(({ id }) => ids.includes(id))
  return Object.fromEntries(
    on.flatMap((one) => [
      [one.key, keyOf(one.id)],
      [baseUrlVariable(one), `${url}/${one.id}`],
    ]),
  ) as Record<string, string>
}

const bundles = new Map<string, Promise<string>>()

/**
 * Starts the gateway with a file in place of its `providers.ts`.
 *
 * @param store A Redis. Without one, keys and budgets are in Durable Objects.
 */
export async function startWithProviders(
  variables: Record<string, string>,
  store?: Store,
  providers: string = usual,
): Promise<WorkerApp> {
  const bundle = bundles.get(providers) ?? bundled(providers)
  bundles.set(providers, bundle)
  const settings = { STORE_TIMEOUT_MS, ...(store && settingsOf(store)), ...variables }
  return runWorker({ ...(await builtWorker(folder)), contents: await bundle }, settings)
}

async function bundled(providers: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${folder}src/index.ts`],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker'],
    external: ['cloudflare:*'],
    write: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'providers',
        setup(bundler) {
          bundler.onResolve({ filter: /^\.\/providers\.ts$/ }, () => ({ path: providers }))
        },
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}
