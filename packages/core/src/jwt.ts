export { jwtSubject } from './identity/jwt.ts'
export type { JwtSubjectOptions } from './identity/jwt.ts'
