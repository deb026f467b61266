#include "transfer/s3_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "s3/client.h"

namespace stator::transfer {
namespace {

// A writer buffers kPartBytes before it sends them; a reader reads kAheadBytes ahead.
constexpr size_t kPartBytes = 8 << 20;
static_assert(kPartBytes >= s3::Client::kLeastPartBytes);
constexpr size_t kAheadBytes = 4 << 20;
constexpr size_t kMostParts = 10'000;

// A small object is one request; a larger one goes in parts, which appear together.
class S3Writer final : public ObjectWriter {
 public:
  S3Writer(std::shared_ptr<s3::Client> client, std::string bucket, std::string key)
      : client_(std::move(client)), bucket_(std::move(bucket)), key_(std::move(key)) {}
  ~S3Writer() override {
    if (upload_.empty()) return;
    // Parts that stay cost their owner storage.
    if (const Status gone = client_->AbortParts(bucket_, key_, upload_); !gone.ok())
      LogWarn("parts_of_object_left", {{"error", gone.error().message()}});
  }
  Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view some = bytes.substr(0, kPartBytes - pending_.size());
      pending_ += some;
      bytes.remove_prefix(some.size());
      if (pending_.size() == kPartBytes) TRY(SendPart());
    }
    return OkStatus();
  }
  Status Finish() override {
    if (upload_.empty()) return client_->Put(bucket_, key_, pending_);
    if (!pending_.empty()) TRY(SendPart());
    TRY(client_->CompleteParts(bucket_, key_, upload_, etags_));
    upload_.clear();
    return OkStatus();
  }

 private:
  Status SendPart() {
    if (etags_.size() == kMostParts) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("Cannot write {}/{}: it has more than {} parts of {} MB.", bucket_,
                               key_, kMostParts, kPartBytes >> 20));
    }
    if (upload_.empty()) {
      ASSIGN_OR_RETURN(upload_, client_->BeginParts(bucket_, key_));
    }
    ASSIGN_OR_RETURN(
        std::string etag,
        client_->PutPart(bucket_, key_, upload_, static_cast<int>(etags_.size()) + 1, pending_));
    etags_.push_back(std::move(etag));
    pending_.clear();
    return OkStatus();
  }

  const std::shared_ptr<s3::Client> client_;
  const std::string bucket_;
  const std::string key_;
  std::string pending_;
  std::string upload_;  // empty: no part was sent
  std::vector<std::string> etags_;
};

class S3Reader final : public ObjectReader {
 public:
  S3Reader(std::shared_ptr<s3::Client> client, std::string bucket, std::string key,
           s3::Properties properties)
      : client_(std::move(client)),
        bucket_(std::move(bucket)),
        key_(std::move(key)),
        properties_(std::move(properties)) {}
  uint64_t size() const override { return properties_.bytes; }
  Status Read(uint64_t offset, size_t bytes, std::string* out) override {
    out->clear();
    while (out->size() < bytes && offset + out->size() < properties_.bytes) {
      const uint64_t at = offset + out->size();
      if (at < ahead_at_ || at >= ahead_at_ + ahead_.size()) TRY(ReadAhead(at));
      out->append(ahead_, at - ahead_at_, bytes - out->size());
    }
    return OkStatus();
  }

 private:
  Status ReadAhead(uint64_t at) {
    const size_t wanted = std::min<uint64_t>(kAheadBytes, properties_.bytes - at);
    ASSIGN_OR_RETURN(ahead_, client_->Get(bucket_, key_, at, wanted, properties_.etag));
    ahead_at_ = at;
    if (ahead_.size() == wanted) return OkStatus();
    return Error(ErrorCode::kUnavailable,
                 fmt::format("The object {} of the bucket {} ended early.", key_, bucket_));
  }

  const std::shared_ptr<s3::Client> client_;
  const std::string bucket_;
  const std::string key_;
  const s3::Properties properties_;
  std::string ahead_;
  uint64_t ahead_at_ = 0;
};

}  // namespace

std::unique_ptr<ObjectWriter> MakeS3Writer(std::shared_ptr<s3::Client> client, std::string bucket,
                                           std::string key) {
  return std::make_unique<S3Writer>(std::move(client), std::move(bucket), std::move(key));
}

Result<std::unique_ptr<ObjectReader>> MakeS3Reader(std::shared_ptr<s3::Client> client,
                                                   std::string bucket, std::string key) {
  ASSIGN_OR_RETURN(s3::Properties properties, client->Describe(bucket, key));
  return std::unique_ptr<ObjectReader>(std::make_unique<S3Reader>(
      std::move(client), std::move(bucket), std::move(key), std::move(properties)));
}

}  // namespace stator::transfer
