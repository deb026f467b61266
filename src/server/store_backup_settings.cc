#include "server/store_backup_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/time_text.h"
#include "s3/connect.h"
#include "server/object_store_settings.h"
#include "transfer/backups.h"

namespace stator::server {
namespace {

constexpr int64_t kLeastEveryMicros = 1'000'000;

}  // namespace

void AddStoreBackupOptions(CLI::App* app, StoreBackupSettings* s) {
  app->add_option("--store-backup", s->place,
                  "where backups of the whole store go: a directory, or a bucket of an S3 endpoint "
                  "(https://HOST/BUCKET/PREFIX); none are made if absent (docs/backup.md)")
      ->envname("STATOR_STORE_BACKUP");
  app->add_option_function<std::string>(
         "--store-backup-every",
         [s](const std::string& text) { s->every_micros = *ParseDuration(text); },
         "how often one is made: seconds, or like 15m, 1h; without it only `stator backup` does")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const std::optional<int64_t> micros = ParseDuration(text);
            return micros && *micros >= kLeastEveryMicros
                       ? std::string()
                       : "not a duration of at least 1s: " + text;
          },
          "DURATION"))
      ->envname("STATOR_STORE_BACKUP_EVERY");
  app->add_option("--store-backup-keep", s->keep,
                  "how many of the newest are kept after each; 0: all")
      ->check(CLI::Range(0, 100'000))
      ->envname("STATOR_STORE_BACKUP_KEEP")
      ->capture_default_str();
  app->add_option("--store-backup-rate-mb", s->rate_mb,
                  "MB that are copied in a second at most; 0: no bound")
      ->check(CLI::Range(0, 1 << 20))
      ->envname("STATOR_STORE_BACKUP_RATE_MB")
      ->capture_default_str();
}

std::optional<std::string> CheckStoreBackup(const CLI::App& serve, const StoreBackupSettings& s,
                                            const std::string& data_dir) {
  if (s.place.empty()) {
    for (const char* option :
         {"--store-backup-every", "--store-backup-keep", "--store-backup-rate-mb"}) {
      if (serve.count(option) > 0) return fmt::format("{} needs --store-backup", option);
    }
    return std::nullopt;
  }
  if (IsUrl(s.place)) {
    const Result<s3::Place> place = s3::ParsePlace(s.place);
    if (!place.ok()) return "--store-backup: " + place.error().message();
    return std::nullopt;
  }
  std::error_code error;
  const auto whole = [&](const std::string& path) {
    std::string text = std::filesystem::weakly_canonical(path, error).string();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text + "/";
  };
  if (whole(s.place).starts_with(whole(data_dir)))
    return fmt::format(
        "--store-backup={} is in the data directory, with which it would be lost: name a place "
        "outside, best on another disk or machine",
        s.place);
  return std::nullopt;
}

Result<std::unique_ptr<store_backup::Place>> OpenStoreBackupPlace(const std::string& place,
                                                                  const std::string& ca_file,
                                                                  const Clock& clock) {
  if (place.empty())
    return ValidationError("A place is a directory, or https://HOST/BUCKET/PREFIX.");
  if (!IsUrl(place))
    return store_backup::MakeDirectoryPlace(place, transfer::Backups::kLeastFreeBytes);
  ASSIGN_OR_RETURN(s3::Place bucket, s3::ParsePlace(place));
  ASSIGN_OR_RETURN(s3::Options options, s3::OptionsFor(std::move(bucket.endpoint), ca_file));
  return store_backup::MakeS3Place(std::make_shared<s3::Client>(std::move(options), clock),
                                   std::move(bucket.bucket), std::move(bucket.prefix), clock);
}

}  // namespace stator::server
