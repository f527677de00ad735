// Prints a token for a tenant, signed with JWT_SECRET and valid for an hour. It stands in for an
// identity provider.
import { SignJWT } from 'jose'

const [tenant, plan] = process.argv.slice(2)
const secret = process.env.JWT_SECRET
if (!tenant || !plan || !secret) {
  console.error('Usage: JWT_SECRET=… node scripts/token.mjs <tenant> <plan>')
  process.exit(1)
}
const token = await new SignJWT({ tenant, plan })
  .setProtectedHeader({ alg: 'HS256' })
  .setIssuer('sluice-demo')
  .setAudience('sluice-demo-ai')
  .setExpirationTime('1h')
  .sign(new TextEncoder().encode(secret))
console.log(token)
