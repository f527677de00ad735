export { prometheus } from './prometheus.ts'
export type { PrometheusOptions, SeriesSharing } from './prometheus.ts'
export { metricsHandler, metricsText } from './metrics-handler.ts'
export type { MetricsOptions } from './metrics-handler.ts'
