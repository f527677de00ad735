import type { APIRoute } from 'astro'

export const POST: APIRoute = () => Response.json({ answer: 42 })
