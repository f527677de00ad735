export const POST = (): Response => Response.json({ answer: 42 })
