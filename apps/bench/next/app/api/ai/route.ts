export const dynamic = 'force-dynamic'

export const POST = (): Response => Response.json({ answer: 42 })
