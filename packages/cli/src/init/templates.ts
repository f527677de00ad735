/* Made from docs/start by scripts/start-templates.ts: do not edit. */
import type { Template } from './template.ts'

export const TEMPLATES: readonly Template[] = [
  {
    name: 'nextjs',
    dependency: 'next',
    packages: ['@sluice/core', '@sluice/next'],
    devPackages: ['@sluice/cli'],
    isModule: false,
    files: {
      'limits.ts':
        "import { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'auth.ts':
        "import { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => process.env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'proxy.ts':
        "import { rateLimit } from '@sluice/next'\nimport { tenantFromJwt } from './auth'\nimport { limiter } from './limits'\n\nexport const proxy = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })\nexport const config = { matcher: ['/api/ai/:path*'] }\n",
      'app/api/ai/chat/route.ts':
        'export const POST = (): Response => Response.json({ answer: 42 })\n',
    },
  },
  {
    name: 'sveltekit',
    dependency: '@sveltejs/kit',
    packages: ['@sluice/core', '@sluice/adapters'],
    devPackages: ['@sluice/cli'],
    isModule: false,
    files: {
      'src/limits.ts':
        "import { env } from '$env/dynamic/private'\nimport { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash({ env })), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'src/auth.ts':
        "import { env } from '$env/dynamic/private'\nimport { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'src/hooks.server.ts':
        "import { rateLimit } from '@sluice/adapters/sveltekit'\nimport { tenantFromJwt } from './auth.ts'\nimport { limiter } from './limits.ts'\n\nexport const handle = rateLimit(limiter, { routes: ['/api/ai/chat'], subject: tenantFromJwt })\n",
      'src/routes/api/ai/chat/+server.ts':
        'export const POST = (): Response => Response.json({ answer: 42 })\n',
    },
  },
  {
    name: 'astro',
    dependency: 'astro',
    packages: ['astro', '@astrojs/node', '@sluice/core', '@sluice/adapters'],
    devPackages: ['@sluice/cli'],
    isModule: false,
    files: {
      'src/limits.ts':
        "import { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'src/auth.ts':
        "import { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => process.env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'src/middleware.ts':
        "import { rateLimit } from '@sluice/adapters/astro'\nimport { tenantFromJwt } from './auth.ts'\nimport { limiter } from './limits.ts'\n\nexport const onRequest = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })\n",
      'src/pages/api/ai/chat.ts':
        "import type { APIRoute } from 'astro'\n\nexport const POST: APIRoute = () => Response.json({ answer: 42 })\n",
      'astro.config.mjs':
        "import node from '@astrojs/node'\nimport { defineConfig } from 'astro/config'\n\nexport default defineConfig({ output: 'server', adapter: node({ mode: 'standalone' }) })\n",
    },
  },
  {
    name: 'cloudflare',
    dependency: 'wrangler',
    packages: ['@sluice/core', '@sluice/cloudflare'],
    devPackages: ['@sluice/cli', 'wrangler'],
    isModule: false,
    files: {
      'limits.ts':
        "import { env } from 'cloudflare:workers'\nimport { createLimiter, slidingWindow } from '@sluice/core'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: upstash({ env }), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'worker.ts':
        "import { env } from 'cloudflare:workers'\nimport { rateLimit } from '@sluice/cloudflare'\nimport { jwtSubject } from '@sluice/core/jwt'\nimport { limiter } from './limits'\n\nconst subject = jwtSubject({\n  secret: () => env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n\nconst handle = (): Response => Response.json({ answer: 42 })\n\nexport default { fetch: rateLimit(limiter, { routes: ['/api/ai/**'], subject }, handle) }\n",
      'wrangler.jsonc':
        '{ "name": "limited", "main": "worker.ts", "compatibility_date": "2026-05-01" }\n',
    },
  },
  {
    name: 'durable-objects',
    packages: ['@sluice/core', '@sluice/cloudflare'],
    devPackages: ['@sluice/cli', 'wrangler'],
    isModule: false,
    files: {
      'limits.ts':
        "import { env } from 'cloudflare:workers'\nimport { durableObjects } from '@sluice/cloudflare/durable-object'\nimport { createLimiter, slidingWindow } from '@sluice/core'\n\nexport const limiter = createLimiter({\n  store: durableObjects(env.LIMITS),\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'worker.ts':
        "import { env } from 'cloudflare:workers'\nimport { rateLimit } from '@sluice/cloudflare'\nimport { jwtSubject } from '@sluice/core/jwt'\nimport { limiter } from './limits'\n\nexport { LimitsObject } from '@sluice/cloudflare/durable-object'\n\nconst subject = jwtSubject({\n  secret: () => env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n\nconst handle = (): Response => Response.json({ answer: 42 })\n\nexport default { fetch: rateLimit(limiter, { routes: ['/api/ai/**'], subject }, handle) }\n",
      'wrangler.jsonc':
        '{\n  "name": "limited",\n  "main": "worker.ts",\n  "compatibility_date": "2026-05-01",\n  "durable_objects": { "bindings": [{ "name": "LIMITS", "class_name": "LimitsObject" }] },\n  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["LimitsObject"] }],\n}\n',
    },
  },
  {
    name: 'hono',
    dependency: 'hono',
    packages: ['hono', '@hono/node-server', '@sluice/core', '@sluice/adapters'],
    devPackages: ['@sluice/cli'],
    isModule: true,
    files: {
      'limits.ts':
        "import { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'auth.ts':
        "import { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => process.env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'server.ts':
        "import { serve } from '@hono/node-server'\nimport { rateLimit } from '@sluice/adapters/hono'\nimport { Hono } from 'hono'\nimport { tenantFromJwt } from './auth.ts'\nimport { limiter } from './limits.ts'\n\nconst app = new Hono()\napp.use('/api/ai/*', rateLimit(limiter, { subject: tenantFromJwt }))\napp.post('/api/ai/chat', (context) => context.json({ answer: 42 }))\n\nserve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })\n",
    },
  },
  {
    name: 'express',
    dependency: 'express',
    packages: ['express', '@sluice/core', '@sluice/adapters'],
    devPackages: ['@types/express', '@sluice/cli'],
    isModule: true,
    files: {
      'limits.ts':
        "import { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'auth.ts':
        "import { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => process.env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'server.ts':
        "import { rateLimit } from '@sluice/adapters/express'\nimport express from 'express'\nimport { tenantFromJwt } from './auth.ts'\nimport { limiter } from './limits.ts'\n\nconst app = express()\nconst limit = rateLimit(limiter, { subject: tenantFromJwt })\napp.post('/api/ai/chat', limit, (_req, res) => void res.json({ answer: 42 }))\n\napp.listen(Number(process.env.PORT ?? 3000))\n",
    },
  },
  {
    name: 'fastify',
    dependency: 'fastify',
    packages: ['fastify', '@sluice/core', '@sluice/adapters'],
    devPackages: ['@sluice/cli'],
    isModule: true,
    files: {
      'limits.ts':
        "import { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'auth.ts':
        "import { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => process.env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'server.ts':
        "import { rateLimit } from '@sluice/adapters/fastify'\nimport fastify from 'fastify'\nimport { tenantFromJwt } from './auth.ts'\nimport { limiter } from './limits.ts'\n\nconst app = fastify()\napp.register(rateLimit(limiter, { subject: tenantFromJwt }))\napp.get('/health', { config: { rateLimit: false } }, async () => 'ok')\napp.post('/api/ai/chat', async () => ({ answer: 42 }))\n\nawait app.listen({ port: Number(process.env.PORT ?? 3000) })\n",
    },
  },
  {
    name: 'h3',
    dependency: 'h3',
    packages: ['h3', '@sluice/core', '@sluice/adapters'],
    devPackages: ['@sluice/cli'],
    isModule: true,
    files: {
      'limits.ts':
        "import { createLimiter, slidingWindow } from '@sluice/core'\nimport { batched } from '@sluice/core/batched'\nimport { upstash } from '@sluice/core/upstash'\n\nexport const limiter = createLimiter({\n  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN\n  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],\n})\n",
      'auth.ts':
        "import { jwtSubject } from '@sluice/core/jwt'\n\nexport const tenantFromJwt = jwtSubject({\n  secret: () => process.env.JWT_SECRET,\n  algorithms: ['HS256'],\n  claims: { tenant: 'tenant' },\n})\n",
      'server.ts':
        "import { rateLimit } from '@sluice/adapters/h3'\nimport { H3, serve } from 'h3'\nimport { tenantFromJwt } from './auth.ts'\nimport { limiter } from './limits.ts'\n\nconst app = new H3()\napp.use('/api/ai/**', rateLimit(limiter, { subject: tenantFromJwt }))\napp.post('/api/ai/chat', () => ({ answer: 42 }))\n\nserve(app, { port: Number(process.env.PORT ?? 3000) })\n",
    },
  },
]
