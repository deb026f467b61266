// Data streams of an endpoint that has the API of Kinesis.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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

namespace stator::triggers {

// [D] The most records of one PutRecords, and the most bytes of a record, its key included.
inline constexpr int64_t kMostPutRecords = 500;
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

// For one thread at a time, but for Cancel.
class KinesisClient {
 public:
  // `endpoint` is of Kind::kKinesis. `clock` measures and dates; it outlives the client.
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

// The changes of a lane that a stream has taken out of their order. A change that it refused is
// sent again, with those of the same item behind it, whether they were taken or not: the last
// record of an item in the stream is that of its last change. Pure.
class TakenChanges {
 public:
  // Forgets what is before the batch.
  void Begin(const Batch& batch);
  // Returns the indexes of the changes that are to be sent.
  std::vector<size_t> Missing(const Batch& batch) const;
  // Hears what became of the changes with these indexes, each of which is a KinesisRecord.
  void Note(const Batch& batch, const std::vector<size_t>& sent, const std::vector<bool>& taken);
  // Returns the index of the first change that is to be sent; the size of the batch if none is.
  size_t FirstMissing(const Batch& batch) const;

 private:
  std::set<stream::Position> taken_;
};

// A data stream as a target: Batch::function is its ARN, and each change is a KinesisRecord.
class KinesisStream final : public Target {
 public:
  KinesisStream(std::unique_ptr<KinesisClient> client, const Clock& clock)
      : client_(std::move(client)), clock_(clock) {}
  Outcome Deliver(const Batch& batch) override;
  // There is no destination on failure.
  Outcome Report(const Batch&, const std::string&) override { return {}; }
  void Cancel() override;

 private:
  // Sends what is not taken. `*progress`: some of it was.
  Outcome Put(const KinesisArn& arn, const Batch& batch, bool* progress);

  const std::unique_ptr<KinesisClient> client_;
  const Clock& clock_;
  std::atomic<bool> cancelled_{false};
  TakenChanges taken_;
};

}  // namespace stator::triggers
