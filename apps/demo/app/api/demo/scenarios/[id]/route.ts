import { controlsRefusal, refuse } from '../../../../../lib/development/controls'
import { scenarios } from '../../../../../lib/scenarios'
import { isRunning, runScenario } from '../../../../../lib/scenarios/run'

/** Runs a scenario, and answers at its end with its result. It stops when the client goes away. */
export async function POST(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const refusal = controlsRefusal(request)
  if (refusal !== undefined) return refuse(refusal)
  const { id } = await params
  const scenario = scenarios.find((one) => one.id === id)
  if (!scenario) return Response.json({ message: 'There is no such scenario.' }, { status: 404 })
  if (isRunning()) return Response.json({ message: 'Another scenario runs.' }, { status: 409 })
  const origin = `http://127.0.0.1:${process.env['PORT']}`
  try {
    return Response.json(await runScenario(scenario, origin, request.signal))
  } catch (error) {
    if (!request.signal.aborted) console.error(error)
    const message = error instanceof Error ? error.message : 'The scenario failed.'
    return Response.json({ message }, { status: 500 })
  }
}
