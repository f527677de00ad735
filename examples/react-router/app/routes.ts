import { route, type RouteConfig } from '@react-router/dev/routes'

export default [
  route('api/ai', 'routes/ai.ts', [route('chat', 'routes/chat.ts')]),
] satisfies RouteConfig
