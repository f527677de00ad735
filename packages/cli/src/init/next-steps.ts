/* The steps that are left after the files are written. */
import type { Template } from './template.ts'

/** Facts about the project that change the steps. */
interface Project {
  /** True for an empty folder. */
  readonly isNew: boolean
  /** True if `.ts` and `.js` files are modules of JavaScript. */
  readonly isModule: boolean
  /** The file that starts the app, if it is not the one that is made. */
  readonly ownServer: string | undefined
  /** The folder of the files, such as `src/`. */
  readonly prefix: string
  /** False if it counts in what its platform has. */
  readonly needsStore: boolean
  /** The file that names its store. */
  readonly store: string | undefined
}

export function nextSteps(template: Template, project: Project): string[] {
  const { name, packages, devPackages } = template
  const { isNew, isModule, ownServer, prefix, needsStore, store } = project
  const missing = (isNew ? FRAMEWORK_PACKAGES[name] : undefined) ?? {
    packages: [],
    devPackages: [],
  }
  const url = `http://localhost:${PORTS[name] ?? 3000}/api/ai/chat`
  const start = ownServer === undefined ? (STARTS[name] ?? serverStart(prefix)) : undefined
  return [
    `npm install ${[...missing.packages, ...packages].join(' ')}`,
    `npm install --save-dev ${[...missing.devPackages, ...devPackages].join(' ')}`,
    ...(template.isModule && !isModule ? [moduleStep(ownServer)] : []),
    ...(needsStore ? [storeStep(store)] : []),
    start === undefined ? `# start ${ownServer} as you do` : `${start}   # in another terminal`,
    `curl -i -X POST -H "authorization: Bearer $(npx @sluice/cli token --tenant acme)" -H 'content-type: application/json' -d '{}' ${url}`,
  ]
}

const storeStep = (file: string | undefined): string =>
  file === undefined
    ? 'npx @sluice/cli local --token development   # a store; leave it running'
    : `# the store is that of ${file}: these calls count there`

/** A server of its own may be CommonJS, which ends where the whole project becomes modules. */
const moduleStep = (ownServer: string | undefined): string =>
  ownServer === undefined
    ? 'npm pkg set type=module'
    : `# if ${ownServer} uses require, it gets these files by import(): see CommonJS in the documentation`

/** The commands that start an app in development, and the ports that it then has. */
const STARTS: Readonly<Record<string, string>> = {
  nextjs: 'npx next dev',
  sveltekit: 'npx vite dev',
  // Astro does not give the variables of .env to process.env.
  astro: 'node --env-file=.env node_modules/astro/bin/astro.mjs dev --port 3000',
  cloudflare: 'npx wrangler dev',
  'durable-objects': 'npx wrangler dev',
}
const PORTS: Readonly<Record<string, number>> = {
  sveltekit: 5173,
  cloudflare: 8787,
  'durable-objects': 8787,
}

/** Packages of the framework itself. Its page expects them to be installed. */
const FRAMEWORK_PACKAGES: Readonly<Record<string, Pick<Template, 'packages' | 'devPackages'>>> = {
  // In a CI, Next.js does not install what its TypeScript needs.
  nextjs: {
    packages: ['next', 'react', 'react-dom'],
    devPackages: ['typescript', '@types/node', '@types/react'],
  },
}

/** Returns the command that starts `server.ts`. Before 22.18, Node.js does not load TypeScript. */
const serverStart = (prefix: string): string =>
  `${process.features.typescript ? 'node' : 'npx tsx'} --env-file=.env ${prefix}server.ts`
