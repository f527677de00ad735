/** The path that OpenAI's clients call if their base URL ends in `/api`. */
export { POST } from '../route'
