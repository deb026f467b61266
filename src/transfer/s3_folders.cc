// Folders of backups in a bucket.
//
//   PREFIX/FOLDER/OBJECT
//   PREFIX/FOLDER/PUBLISHED     empty, written last and deleted first: the folder is whole
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/time_text.h"
#include "s3/client.h"
#include "transfer/folders.h"
#include "transfer/s3_object.h"

namespace stator::transfer {
namespace {

// The objects that a prefix may have: 64 TB of backups, in objects of 64 MB.
constexpr size_t kMostObjects = 1'000'000;
constexpr std::string_view kPublished = "PUBLISHED";
// An unpublished folder of this age was left by a crash and is removed. No server writes to a
// folder for longer (Backups::kMostMicros).
constexpr int64_t kAbandonedMicros = int64_t{24} * 3600 * 1'000'000;

class S3Folders final : public Folders {
 public:
  S3Folders(std::shared_ptr<s3::Client> client, std::string bucket, std::string prefix,
            const Clock& clock)
      : client_(std::move(client)),
        bucket_(std::move(bucket)),
        prefix_(std::move(prefix)),
        clock_(clock) {}

  Result<std::vector<std::string>> Open() override {
    struct Found {
      bool published = false;
      std::string newest;  // when its last object was written
    };
    std::map<std::string, Found> folders;
    TRY(client_->CheckBucket(bucket_));
    TRY(client_->ListAll(bucket_, prefix_, kMostObjects, [&](const s3::Object& object) {
      const std::string_view name = std::string_view(object.key).substr(prefix_.size());
      const size_t slash = name.find('/');
      if (slash == std::string_view::npos) return OkStatus();
      Found& folder = folders[std::string(name.substr(0, slash))];
      folder.published |= name.substr(slash + 1) == kPublished;
      folder.newest = std::max(folder.newest, object.modified);
      return OkStatus();
    }));
    std::vector<std::string> published;
    for (const auto& [name, folder] : folders) {
      if (folder.published) {
        published.push_back(name);
      } else if (IsAbandoned(folder.newest)) {
        TRY(Remove(name));
      }
    }
    return published;
  }

  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                              const std::string& object) override {
    return MakeS3Writer(client_, bucket_, KeyOf(folder, object));
  }

  Status Publish(const std::string& folder) override {
    return client_->Put(bucket_, KeyOf(folder, kPublished), "");
  }

  Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                             const std::string& object) override {
    Result<std::unique_ptr<ObjectReader>> reader =
        MakeS3Reader(client_, bucket_, KeyOf(folder, object));
    if (reader.ok() || reader.error().code() != ErrorCode::kResourceNotFound) return reader;
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("The object {}/{} is missing.", place(), KeyOf(folder, object)));
  }

  Status Remove(const std::string& folder) override {
    TRY(client_->Delete(bucket_, KeyOf(folder, kPublished)));
    return client_->ListAll(
        bucket_, KeyOf(folder, ""), kMostObjects,
        [&](const s3::Object& object) { return client_->Delete(bucket_, object.key); });
  }

  void Cancel() override { client_->Cancel(); }
  std::string place() const override { return fmt::format("{}/{}", client_->place(), bucket_); }

 private:
  std::string KeyOf(std::string_view folder, std::string_view object) const {
    return fmt::format("{}{}/{}", prefix_, folder, object);
  }

  bool IsAbandoned(const std::string& newest) const {
    const std::optional<int64_t> written = ParseTime(newest);
    return written && *written + kAbandonedMicros < clock_.NowMicros();
  }

  const std::shared_ptr<s3::Client> client_;
  const std::string bucket_;
  const std::string prefix_;  // empty, or ends in a slash
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Folders> MakeS3Folders(std::shared_ptr<s3::Client> client, std::string bucket,
                                       std::string prefix, const Clock& clock) {
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return std::make_unique<S3Folders>(std::move(client), std::move(bucket), std::move(prefix),
                                     clock);
}

}  // namespace stator::transfer
