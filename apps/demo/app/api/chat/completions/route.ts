/** Where OpenAI's clients ask when their base URL ends in `/api`. */
export { POST } from '../route'
