// Whole-store backups in a bucket.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/time_text.h"
#include "s3/client.h"
#include "store_backup/manifest.h"
#include "store_backup/place.h"
#include "transfer/s3_object.h"

namespace stator::store_backup {
namespace {

// More objects of a folder than all backups that anyone keeps have.
constexpr size_t kMostListed = 2'000'000;
constexpr int64_t kInUseMicros = int64_t{24} * 3600 * 1'000'000;

class S3Place final : public Place {
 public:
  S3Place(std::shared_ptr<s3::Client> client, std::string bucket, std::string prefix,
          const Clock& clock)
      : client_(std::move(client)),
        bucket_(std::move(bucket)),
        prefix_(std::move(prefix)),
        clock_(clock) {}

  Status Begin() override { return client_->CheckBucket(bucket_); }
  void End() override {}

  Result<std::vector<Entry>> List(std::string_view folder) override {
    std::vector<Entry> found;
    const int64_t now = clock_.NowMicros();
    TRY(client_->ListAll(
        bucket_, fmt::format("{}{}/", prefix_, folder), kMostListed, [&](const s3::Object& object) {
          std::string name = object.key.substr(prefix_.size());
          if (!IsNameHere(name)) return OkStatus();
          const std::optional<int64_t> written = ParseTime(object.modified);
          found.push_back(
              {std::move(name), object.bytes, !written || *written + kInUseMicros > now});
          return OkStatus();
        }));
    return found;
  }

  Result<std::unique_ptr<transfer::ObjectWriter>> Write(const std::string& name) override {
    return transfer::MakeS3Writer(client_, bucket_, prefix_ + name);
  }

  Result<std::unique_ptr<transfer::ObjectReader>> Read(const std::string& name) override {
    Result<std::unique_ptr<transfer::ObjectReader>> reader =
        transfer::MakeS3Reader(client_, bucket_, prefix_ + name);
    if (reader.ok() || reader.error().code() != ErrorCode::kResourceNotFound) return reader;
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("The object {}{} is missing.", PlaceText(), name));
  }

  Status Remove(const std::string& name) override {
    return client_->Delete(bucket_, prefix_ + name);
  }

  // The digest of each body is in its request's signature.
  bool checks_writes() const override { return true; }
  void Cancel() override { client_->Cancel(); }
  std::string name() const override {
    std::string text = PlaceText();
    text.pop_back();
    return text;
  }

 private:
  std::string PlaceText() const {
    return fmt::format("{}/{}/{}", client_->place(), bucket_, prefix_);
  }

  const std::shared_ptr<s3::Client> client_;
  const std::string bucket_;
  const std::string prefix_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Place> MakeS3Place(std::shared_ptr<s3::Client> client, std::string bucket,
                                   std::string prefix, const Clock& clock) {
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return std::make_unique<S3Place>(std::move(client), std::move(bucket), std::move(prefix), clock);
}

}  // namespace stator::store_backup
