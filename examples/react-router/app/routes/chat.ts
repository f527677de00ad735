export const action = () => ({ answer: 42 })
