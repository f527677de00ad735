import { jwtSubject } from '@sluice/core/jwt'

const subjectOf = jwtSubject({
  secret: () => process.env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})

/** Returns the tenant of a request's JWT, or undefined if the JWT is missing or invalid. */
export async function tenantOf(request: Request): Promise<string | undefined> {
  const subject = await subjectOf(request)
  return subject && 'tenant' in subject ? subject.tenant : undefined
}
