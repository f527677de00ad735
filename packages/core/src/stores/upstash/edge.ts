/* The entry `upstash` where one request may not wait for another: export conditions choose it. */
export { upstashStore as upstash } from './upstash-store.ts'
