/** The ids of the routes that the adapters of this process list. A policy that names another may be misspelt. */
export const routeIds: Set<string> = new Set()
