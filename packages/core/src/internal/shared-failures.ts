/** The request of each failure of calls that shared one. Each of them may have an error of its own. */
export const sharedRequests: WeakMap<object, object> = new WeakMap()
