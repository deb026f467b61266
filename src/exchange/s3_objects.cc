// An object store that is an S3 endpoint.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "exchange/object_store.h"
#include "s3/client.h"

namespace stator::exchange {
namespace {

using transfer::ObjectReader;
using transfer::ObjectWriter;

// What a writer keeps until it is sent, and a reader has read ahead.
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

class S3Objects final : public ObjectStore {
 public:
  S3Objects(std::shared_ptr<s3::Client> client, std::vector<std::string> buckets)
      : client_(std::move(client)), buckets_(std::move(buckets)) {}

  Status CheckBucket(const std::string& bucket) override {
    TRY(CheckMayUse(bucket));
    return client_->CheckBucket(bucket);
  }
  Status MakeBucket(const std::string& bucket) override {
    TRY(CheckMayUse(bucket));
    return client_->MakeBucket(bucket);
  }
  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& bucket,
                                              const std::string& key) override {
    TRY(CheckMayUse(bucket));
    TRY(CheckKey(key));
    return std::unique_ptr<ObjectWriter>(std::make_unique<S3Writer>(client_, bucket, key));
  }
  Result<std::unique_ptr<ObjectReader>> Read(const std::string& bucket,
                                             const std::string& key) override {
    TRY(CheckMayUse(bucket));
    TRY(CheckKey(key));
    ASSIGN_OR_RETURN(s3::Properties properties, client_->Describe(bucket, key));
    return std::unique_ptr<ObjectReader>(
        std::make_unique<S3Reader>(client_, bucket, key, std::move(properties)));
  }
  Result<std::vector<ObjectInfo>> List(const std::string& bucket, std::string_view prefix,
                                       size_t most) override {
    TRY(CheckMayUse(bucket));
    std::vector<ObjectInfo> list;
    std::string from;
    do {
      ASSIGN_OR_RETURN(s3::Page page, client_->List(bucket, prefix, from));
      for (s3::Object& object : page.objects) {
        if (list.size() == most) {
          return Error(ErrorCode::kLimitExceeded,
                       fmt::format("The prefix has more than {} objects.", most));
        }
        list.push_back({std::move(object.key), object.bytes});
      }
      if (page.next == from) break;  // a server that goes round in circles
      from = std::move(page.next);
    } while (!from.empty());
    return list;
  }
  void Cancel() override { client_->Cancel(); }
  std::string place() const override { return client_->place(); }

 private:
  // The server's key may reach buckets that are none of the caller's business.
  Status CheckMayUse(const std::string& bucket) const {
    TRY(CheckBucketName(bucket));
    if (std::any_of(buckets_.begin(), buckets_.end(),
                    [&bucket](const std::string& one) { return one == "*" || one == bucket; }))
      return OkStatus();
    return Error(ErrorCode::kAccessDenied,
                 fmt::format("The bucket {} is none of --object-store-buckets.", bucket));
  }

  const std::shared_ptr<s3::Client> client_;
  const std::vector<std::string> buckets_;
};

}  // namespace

std::unique_ptr<ObjectStore> MakeS3Objects(std::shared_ptr<s3::Client> client,
                                           std::vector<std::string> buckets) {
  return std::make_unique<S3Objects>(std::move(client), std::move(buckets));
}

}  // namespace stator::exchange
