/* Finds the SDK that an app has registered, if it has. */
import {
  createNoopMeter,
  metrics,
  ProxyTracerProvider,
  trace,
  type Meter,
  type MeterProvider,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'

/** The name of the tracer and of the meter. */
export const SCOPE = '@sluice/otel'

/** The provider of the API alone, whose spans are never recorded. */
const NO_PROVIDER = new ProxyTracerProvider().getDelegate()

/**
 * Returns a function that finds the tracer: `undefined` while no SDK is registered. A tracer of the API itself would
 * not do: in an app with two copies of the API, as Next.js builds them, that of the other copy never has an SDK.
 */
export function currentTracer(provider: TracerProvider | undefined): () => Tracer | undefined {
  let known: TracerProvider | undefined
  let tracer: Tracer | undefined
  return () => {
    const current = provider ?? trace.getTracerProvider()
    if (current instanceof ProxyTracerProvider && current.getDelegate() === NO_PROVIDER) {
      return undefined
    }
    if (current !== known) {
      known = current
      tracer = current.getTracer(SCOPE)
    }
    return tracer
  }
}

/** The meter of the API alone, which records nothing. */
const NO_METER = createNoopMeter()

/**
 * Returns a function that finds the meter: `undefined` while no SDK is registered. The global provider may be
 * registered after the limiter was created, and OpenTelemetry does not replace meters that it has given out before.
 *
 * @param onChange Called when there is another meter, whose instruments must be made anew.
 */
export function currentMeter(
  provider: MeterProvider | undefined,
  onChange: () => void,
): () => Meter | undefined {
  let known: MeterProvider | undefined
  let meter: Meter | undefined
  return () => {
    const current = provider ?? metrics.getMeterProvider()
    if (current !== known) {
      known = current
      const found = current.getMeter(SCOPE)
      meter = found === NO_METER ? undefined : found
      onChange()
    }
    return meter
  }
}
