export default { fetch: () => Response.json({ answer: 42 }) }
