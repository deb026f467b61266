// Data streams of an endpoint that has the API of Kinesis.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/sigv4.h"
#include "base/clock.h"
#include "base/result.h"
#include "egress/client.h"
#include "stream/position.h"
#include "triggers/event.h"
#include "triggers/function.h"
#include "triggers/taken.h"

namespace stator::triggers {

// [D] The most records of one PutRecords, and the most bytes of a record, its key included.
inline constexpr size_t kMostPutRecords = 500;
inline constexpr size_t kMostKinesisRecordBytes = 1 << 20;
// The bytes of one PutRecords, of which the service takes 5 MB, with the key of each.
inline constexpr size_t kMostPutBytes = 4 << 20;

// A stream's ARN: arn:PARTITION:kinesis:REGION:ACCOUNT:stream/NAME.
struct KinesisArn {
  std::string region;
  std::string name;

  // Nothing if the text is none.
  static std::optional<KinesisArn> Parse(std::string_view text);
};

// Finds the access key that signs, as SDKs do. kValidation, with a sentence, if there is none.
Result<access::SigningKey> FindKinesisKey(std::string_view endpoint);

// Used by one thread at a time, except Cancel, which any thread may call.
class KinesisClient {
 public:
  // `endpoint` must be of Kind::kKinesis. `clock` is used for timeouts and for signatures; it must
  // outlive the client.
  static Result<std::unique_ptr<KinesisClient>> Make(const FunctionSettings& endpoint,
                                                     const Clock& clock, Trusts* trusts);
  // Calls an action, such as PutRecords. Errors are egress's: there was no answer. Blocks.
  Result<egress::Reply> Call(std::string_view action, std::string_view region,
                             std::string_view body);
  // Whether records can be put into a stream. kAccessDenied: the endpoint has no such stream, or
  // refuses the key. kUnavailable: it cannot be reached, or answers nonsense.
  Status Check(std::string_view arn);
  void Cancel() { http_.Cancel(); }

 private:
  KinesisClient(const FunctionSettings& endpoint, egress::Url url,
                std::shared_ptr<const egress::TlsTrust> trust, const Clock& clock);

  const egress::Url url_;
  const Clock& clock_;
  egress::Client http_;
  std::optional<access::SigningKey> key_;  // nothing: it is to be found again
};

// The type of an error that a service answered, without its namespace; empty: there is none.
std::string KinesisErrorOf(const egress::Reply& reply);

// A data stream as a target, with a record for each change.
//
//                    the destination of a table     a function with `stream`
//   the stream       Batch::function                FunctionSettings::stream
//   a record         the service's for it           the change as in an event
//   changes of item  the last comes last            each comes first after those before it
//   too large        is dropped                     is hopeless
class KinesisStream final : public Target {
 public:
  KinesisStream(const FunctionSettings& function, std::unique_ptr<KinesisClient> client,
                const Clock& clock)
      : stream_(function.stream),
        timeout_micros_(function.timeout_micros),
        client_(std::move(client)),
        clock_(clock) {}
  size_t most_bytes() const override { return kMostPutBytes; }
  size_t most_change_bytes() const override;
  std::string_view not_run() const override { return "the endpoint has not taken all records: "; }
  void Render(const RawChange& raw, ByteBuffer* scratch, Change* change) const override;
  Outcome Deliver(const Batch& batch) override;
  // Puts one record with the document of a failed batch. Leaves out the document's payload if the
  // record would be too large with it.
  Outcome Report(const Batch& batch, const std::string& head) override;
  void Cancel() override;

 private:
  // Sends those of the first `end` changes that the stream has not taken yet. Sets *progress if the
  // stream took some of them.
  Outcome Put(const KinesisArn& arn, const Batch& batch, size_t end, bool* progress);

  const std::string stream_;  // the ARN of a function; empty: a destination
  const int64_t timeout_micros_;
  const std::unique_ptr<KinesisClient> client_;
  const Clock& clock_;
  std::atomic<bool> cancelled_{false};
  TakenChanges taken_;
};

}  // namespace stator::triggers
