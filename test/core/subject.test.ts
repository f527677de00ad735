import type { Subject } from '@sluice/core'
import type { SubjectResolver } from '@sluice/core/http'
import { describe, expectTypeOf, it } from 'vitest'

interface Tenant {
  tenant: string
  plan: string
}

describe('the type of a subject', () => {
  it('accepts an interface of your own, standard dimensions, and any others', () => {
    expectTypeOf<Tenant>().toExtend<Subject>()
    expectTypeOf<(request: Request) => Promise<Tenant | null>>().toExtend<SubjectResolver>()
    expectTypeOf<{ tenant: string; project: string }>().toExtend<Subject>()
  })

  it('accepts only strings', () => {
    expectTypeOf<{ tenant: number }>().not.toExtend<Subject>()
    expectTypeOf<{ project: string[] }>().not.toExtend<Subject>()
  })
})
