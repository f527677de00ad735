export { POST } from '../summarize/route'
