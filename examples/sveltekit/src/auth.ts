import { env } from '$env/dynamic/private'
import { jwtSubject } from '@sluice/core/jwt'

export const tenantFromJwt = jwtSubject({
  secret: () => env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})
