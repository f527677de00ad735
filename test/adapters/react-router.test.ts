import { createAdaptorServer } from '@hono/node-server'
import { decisionOf, rateLimit, reservationOf } from '@sluice/adapters/react-router'
import { createRequestHandler, type ActionFunctionArgs, type ServerBuild } from 'react-router'
import { adapterCases } from './cases.ts'
import { listen, sameDecision, type Serve } from './support.ts'

type Action = (args: ActionFunctionArgs) => BodyInit | Promise<BodyInit>

const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const actions: Record<string, Action> = {
    chat,
    settle: ({ context }) => settle(sameDecision(reservationOf(context), decisionOf(context))),
    stream,
    fail,
  }
  const build = createBuild([
    { id: 'ai', path: 'api/ai', middleware: [rateLimit(limiter, options)] },
    ...Object.entries(actions).map(([path, action]) => ({
      id: path,
      path,
      parentId: 'ai',
      action,
      loader: action,
    })),
    { id: 'free', path: 'free', action: free },
  ])
  const handle = createRequestHandler(build, 'test')
  return listen(createAdaptorServer({ fetch: (request) => handle(request) }))
}

adapterCases(serve, { spellings: ['/api/ai/%63hat', '/API/ai/chat', '/api/ai/chat/'] })

interface RouteFile {
  readonly id: string
  readonly path: string
  readonly parentId?: string
  readonly action?: Action
  readonly loader?: Action
  readonly middleware?: NonNullable<ServerBuild['routes'][string]>['module']['middleware']
}

const respondWith = (handle: Action | undefined) =>
  handle && (async (args: ActionFunctionArgs) => new Response(await handle(args)))

/** The build of an app of these routes, as React Router's compiler writes it. */
function createBuild(files: readonly RouteFile[]): ServerBuild {
  const routes = files.map(({ id, path, parentId, action, loader, middleware }) => {
    const module = {
      default: undefined,
      action: respondWith(action),
      loader: respondWith(loader),
      middleware,
    }
    return { id, path, parentId, module }
  })
  return {
    entry: { module: { default: () => new Response(null, { status: 500 }) } },
    routes: Object.fromEntries(routes.map((route) => [route.id, route])),
    assets: { entry: { imports: [], module: '' }, routes: {}, url: '', version: '' },
    publicPath: '/',
    assetsBuildDirectory: '',
    future: {},
    ssr: true,
    isSpaMode: false,
    prerender: [],
    routeDiscovery: { mode: 'initial', manifestPath: '' },
  } as unknown as ServerBuild
}
