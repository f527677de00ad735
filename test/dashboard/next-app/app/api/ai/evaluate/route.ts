export const POST = () => Response.json({ answer: 42 })
