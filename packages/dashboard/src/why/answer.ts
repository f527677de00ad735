/* The question that the page sends, as JSON in the parameter `why`, and the answer. */

/** A question about the requests of one tenant. */
export interface WhyQuestion {
  readonly tenant: string
  /** The id of a recorded denial. Without it, the question is about now. */
  readonly id?: string
  /** The name of the limiter. @default the first */
  readonly limiter?: string
  /** The dimensions of the subject, without the tenant. */
  readonly subject?: Readonly<Record<string, string>>
  /** The units that the request asks for. @default those of the latest recorded denial, else 1 of each */
  readonly cost?: Readonly<Record<string, number>>
}

/** The parts that a question to a limiter may have. */
export interface QuestionParts {
  /** The dimensions that its policies count by, without the tenant. */
  readonly dimensions: readonly string[]
  readonly plans: readonly string[]
  readonly units: readonly string[]
}

/** The answer, and the parts of the next question. */
export interface WhyAnswer extends QuestionParts {
  /** Lines for a person. */
  readonly text: string
  readonly limiter: string
  readonly limiters: readonly string[]
}
