// Request helpers that workloads share, whether the machine is one server or several.

/** `send(operation, body, headers)` is the machine's: it resolves to `{ status, body, error }`; status 0: no answer. */
export class WorkloadClient {
  /** What went wrong first; it ends the run. */
  trouble;

  /** Sends an operation that has to succeed; resolves to its answer. */
  async must(operation, body, headers = {}) {
    const { status, body: answer, error } = await this.send(operation, body, headers);
    if (status !== 200) {
      throw this.trouble ?? new Error(`${operation} ${JSON.stringify(body)}: ${status} ${JSON.stringify(answer ?? error)}`);
    }
    return answer;
  }

  /** All pages of a Query or Scan; their items. */
  async all(operation, body) {
    const items = [];
    let ExclusiveStartKey;
    do {
      const page = await this.must(operation, { ...body, ExclusiveStartKey });
      items.push(...page.Items);
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return items;
  }

  /** Remembers what went wrong first; it ends the run. */
  fail(error) {
    this.trouble ??= error;
  }
}
