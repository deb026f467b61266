// Errors as people are shown them.
import type { Item } from '../model/value.ts';

// The server answered with an error.
export class ApiError extends Error {
  constructor(
    // ConditionalCheckFailedException, without the service's prefix.
    readonly type: string,
    // The server's message, verbatim.
    message: string,
    readonly status: number,
    readonly requestId: string,
    // The parsed body: Item, CancellationReasons, ThrottlingReasons.
    readonly body: Record<string, unknown>,
  ) {
    super(message);
  }

  // The stored item, where the request asked for it and a condition failed.
  get item(): Item | undefined {
    return this.body.Item as Item | undefined;
  }

  get isThrottle(): boolean {
    return kThrottles.has(this.type);
  }

  // The server could not tell who sent it: no signature, an unknown key, an expired session.
  // Management calls have the sentence alone.
  get isUnsigned(): boolean {
    return (
      this.status >= 400 &&
      this.status < 500 &&
      (/^(MissingAuthenticationToken|UnrecognizedClient|InvalidSignature|ExpiredToken|IncompleteSignature|InvalidClientTokenId|SignatureDoesNotMatch)/.test(
        this.type,
      ) ||
        /^(Request is missing Authentication Token|The security token included in the request|The request signature we calculated|Signature expired|Signature not yet current)/.test(
          this.message,
        ))
    );
  }

  // The policies of the caller do not allow it.
  get isDenied(): boolean {
    return (
      this.type.startsWith('AccessDenied') || /is not authorized to perform/.test(this.message)
    );
  }
}

const kThrottles = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
]);

// No answer: the server is away, or the request was given up. Whether it was carried out is not
// known.
export class NoAnswer extends Error {
  constructor(readonly reason: string) {
    super(
      `No answer from the server (${reason}). Whether the request was carried out is not known.`,
    );
  }
}

// The call was stopped by the user or is no longer wanted.
export class Stopped extends Error {
  constructor() {
    super('Stopped');
  }
}

export const isStopped = (error: unknown): boolean => error instanceof Stopped;

// Whether a request may be sent again as it is: it was not carried out, or carrying it out twice is
// the same.
export const isRetryable = (error: unknown): boolean =>
  error instanceof ApiError && (error.isThrottle || error.status >= 500);

export interface Told {
  title: string;
  message: string;
  // What Stator adds around the service's own sentence: why, and what would help.
  explanation: string | null;
  requestId: string | null;
}

// The message apart from Stator's explanation of it.
export function tell(error: unknown): Told {
  if (error instanceof ApiError) {
    // Cause and cure, then the service's sentences, then the lesson's name.
    const all = error.message;
    const found =
      /(The level of configured|Throughput exceeds the current) .*?(?= Lesson: |$)/s.exec(all);
    const service = found?.[0] ?? '';
    const own = found
      ? `${all.slice(0, found.index).trim()}${all.slice(found.index + service.length)}`.trim()
      : '';
    return {
      title: error.type,
      message: own ? service : all,
      explanation: own || null,
      requestId: error.requestId || null,
    };
  }
  if (error instanceof NoAnswer)
    return { title: 'No answer', message: error.message, explanation: null, requestId: null };
  const message = error instanceof Error ? error.message : String(error);
  return { title: 'This did not work', message, explanation: null, requestId: null };
}
