export { prometheus, type PrometheusOptions, type SeriesSharing } from './prometheus.ts'
export { metricsHandler, metricsText, type MetricsOptions } from './metrics-handler.ts'
