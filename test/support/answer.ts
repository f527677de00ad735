/** An answer that comes when the test says so. */
export class Answer<T = string> {
  resolve: (value: T) => void = () => {}
  reject: (error: Error) => void = () => {}
  readonly promise: Promise<T> = new Promise((resolve, reject) => {
    this.resolve = resolve
    this.reject = reject
  })
}
