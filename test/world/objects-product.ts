/* The part of `@sluice/cloudflare/durable-object` that runs without the platform. */
export { durableObjects } from '../../packages/cloudflare/dist/durable-object/durable-objects.js'
export { ObjectJournal } from '../../packages/cloudflare/dist/durable-object/object-journal.js'
export { objectChoices } from '../../packages/cloudflare/dist/durable-object/object-choices.js'
export { objectLeases } from '../../packages/cloudflare/dist/durable-object/object-leases.js'
export { Place } from '../../packages/cloudflare/dist/durable-object/place.js'
