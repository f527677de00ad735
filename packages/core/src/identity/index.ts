export { addressSubject, type AddressSubjectOptions } from './address-subject.ts'
export { apiKeySubject, headerSubject } from './header.ts'
export type { ApiKeySubjectOptions, HeaderSubjectOptions } from './header.ts'
export { allOf, firstOf } from './resolver.ts'
