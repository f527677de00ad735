import { jwtSubject } from '@sluice/core/jwt'

export const tenantFromJwt = jwtSubject({
  secret: () => process.env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})
