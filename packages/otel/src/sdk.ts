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

/** Instruments by name, each made at its first use. */
interface Instruments<Name, Instrument> {
  /** Returns false while no SDK is registered. */
  readonly isActive: () => boolean
  /** Returns an instrument; `undefined` while no SDK is registered. */
  readonly find: (name: Name) => Instrument | undefined
}

/**
 * Creates the instruments of the current meter. The global provider may be registered after the limiter was created, and
 * OpenTelemetry does not replace meters that it has given out before: of another meter, all are made anew.
 */
export function instrumentsOf<Name, Instrument>(
  provider: MeterProvider | undefined,
  create: (meter: Meter, name: Name) => Instrument,
): Instruments<Name, Instrument> {
  const made = new Map<Name, Instrument>()
  let known: MeterProvider | undefined
  let meter: Meter | undefined
  const currentMeter = (): Meter | undefined => {
    const current = provider ?? metrics.getMeterProvider()
    if (current !== known) {
      known = current
      const found = current.getMeter(SCOPE)
      meter = found === NO_METER ? undefined : found
      made.clear()
    }
    return meter
  }
  return {
    isActive: () => currentMeter() !== undefined,
    find(name) {
      const current = currentMeter()
      const instrument = made.get(name) ?? (current && create(current, name))
      if (instrument !== undefined) made.set(name, instrument)
      return instrument
    },
  }
}
