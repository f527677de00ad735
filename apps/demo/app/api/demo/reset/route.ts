import { controlsRefusal, refuse } from '../../../../lib/development/controls'
import { resetTenants } from '../../../../lib/development/reset'

/** Gives all of the demo's tenants their budgets back, and begins the dashboard anew. */
export async function POST(request: Request): Promise<Response> {
  const refusal = controlsRefusal(request)
  if (refusal !== undefined) return refuse(refusal)
  try {
    await resetTenants()
    return new Response(null, { status: 204 })
  } catch (error) {
    console.error(error)
    return Response.json({ message: 'The store does not answer: try again.' }, { status: 503 })
  }
}
