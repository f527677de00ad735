/* The least that any gateway does: it sends a call on with the operator's key, and its answer back. */
export default {
  fetch(request, { OPENAI_BASE_URL, OPENAI_API_KEY }) {
    const path = new URL(request.url).pathname.replace(/^\/v1/, '')
    const sent = new Request(OPENAI_BASE_URL + path, request)
    sent.headers.set('authorization', `Bearer ${OPENAI_API_KEY}`)
    return fetch(sent)
  },
}
